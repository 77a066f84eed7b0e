package report

import (
	"fmt"
	"html/template"
	"strings"
)

// svg is a picture that is being drawn.
type svg struct {
	strings.Builder
	width, height float64
}

func newSVG(width, height float64, title string) *svg {
	s := &svg{width: width, height: height}
	s.put(`<svg viewBox="0 0 %g %g" role="img" aria-label="%s">`, width, height, template.HTMLEscapeString(title))
	return s
}

func (s *svg) put(format string, args ...any) { fmt.Fprintf(&s.Builder, format, args...) }

func (s *svg) rect(x, y, w, h float64, class, title string) {
	s.put(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="%s">`, x, y, max(w, 0.5), h, class)
	if title != "" {
		s.put(`<title>%s</title>`, template.HTMLEscapeString(title))
	}
	s.put("</rect>\n")
}

// shade is a cell whose darkness says how much, from 0 to 1.
func (s *svg) shade(x, y, w, h, much float64, class, title string) {
	s.put(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="%s" fill-opacity="%.2f"><title>%s</title></rect>`+"\n",
		x, y, w, h, class, much, template.HTMLEscapeString(title))
}

func (s *svg) line(x1, y1, x2, y2 float64, class string) {
	s.put(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="%s"/>`+"\n", x1, y1, x2, y2, class)
}

func (s *svg) text(x, y float64, class, text string) {
	s.put(`<text x="%.1f" y="%.1f" class="%s">%s</text>`+"\n", x, y, class, template.HTMLEscapeString(text))
}

// point is one of a curve; where there is none the curve is broken.
type point struct {
	x, y float64
	none bool
}

func (s *svg) curve(points []point, class string) {
	s.put(`<path class="curve %s" d="`, class)
	pen := "M"
	for i, p := range points {
		if p.none {
			pen = "M"
			continue
		}
		s.put("%s%.1f %.1f", pen, p.x, p.y)
		if pen == "M" && (i+1 == len(points) || points[i+1].none) {
			s.put("h1") // one point alone would not be seen
		}
		pen = "L"
	}
	s.put("\"/>\n")
}

func (s *svg) done() template.HTML {
	s.put("</svg>")
	return template.HTML(s.String()) // all texts in it are escaped where they are put
}
