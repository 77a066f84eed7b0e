package doctor

import (
	"fmt"
	"strings"
	"time"
)

// found is what an error says, or what there is without one.
func found(err error, fine string) string {
	if err != nil {
		return strings.Join(strings.Fields(err.Error()), " ") // in one line
	}
	return fine
}

func ifElse[T any](yes bool, then, otherwise T) T {
	if yes {
		return then
	}
	return otherwise
}

// bytesText writes a size for a person.
func bytesText(n int64) string {
	const unit = 1024
	switch {
	case n < unit:
		return fmt.Sprintf("%d B", n)
	case n < unit*unit:
		return fmt.Sprintf("%.1f KiB", float64(n)/unit)
	case n < unit*unit*unit:
		return fmt.Sprintf("%.1f MiB", float64(n)/unit/unit)
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/unit/unit/unit)
}

// short writes a duration to three digits or so.
func short(d time.Duration) string {
	switch {
	case d >= 10*time.Second || d <= -10*time.Second:
		return d.Round(time.Second).String()
	case d >= time.Second || d <= -time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= 10*time.Millisecond || d <= -10*time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}

// list writes numbers with commas between them, and no more than a few.
func list(ids []int) string {
	const most = 8
	text := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(ids[:min(most, len(ids))])), ", "), "[]")
	if len(ids) > most {
		text += fmt.Sprintf(" and %d more", len(ids)-most)
	}
	return text
}
