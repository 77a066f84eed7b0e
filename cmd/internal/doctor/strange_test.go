package doctor

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/freshet-cache/freshet/proxy/source/postgres"
)

// Whatever stands in the place of Kafka Connect: what to do is said, and the
// password of the URL is not.
func TestNoKafkaConnect(t *testing.T) {
	status, answer := 0, ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "kc" || password != "s3cret" {
			t.Errorf("who asks is %s, %s", user, password)
		}
		w.Header().Set("Location", r.URL.String()) // round and round, where the status says so
		w.WriteHeader(status)
		io.WriteString(w, answer)
	}))
	defer s.Close()
	for _, c := range []struct {
		status       int
		answer, want string
	}{
		{200, "\x00{{{", "is not the REST interface"},
		{200, strings.Repeat(`{"a":`, 1<<20), "is not the REST interface"},
		{200, "null", "no connector of Debezium"},
		{200, `{"a":null,"b":{"info":{"config":{"connector.class":null}}}}`, "no connector of Debezium"},
		{302, "", "correct --connect"},
		{401, `{"error_code":401}`, "--connect http://USER:PASSWORD@"},
		{403, "", "--connect http://USER:PASSWORD@"},
		{409, `{"error_code":409}`, "ask again"},
		{503, "", "ask again"},
		{500, "<html>", "is not the REST interface"},
	} {
		status, answer = c.status, c.answer
		_, err := connectorsAt(t.Context(), strings.Replace(s.URL, "://", "://kc:s3cret@", 1))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%d %.20q: %v", c.status, c.answer, err)
		}
	}
	for _, url := range []string{
		"http://kc:s3cret%re@127.0.0.1:1", "kc:s3cret@127.0.0.1:1", "http://kc:s3cret@ho st", "ftp://kc:s3cret@h", "127.0.0.1:8083", "http://", "http://kc:s3cret@127.0.0.1:99999",
	} {
		if _, err := connectorsAt(t.Context(), url); err == nil || !strings.Contains(err.Error(), "--connect") || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// What others call things is shown, and moves nothing on a terminal.
func TestWordsOfOthersArePlain(t *testing.T) {
	f := captured(t)
	f.Connectors[0].Name, f.Connectors[0].State, f.Connectors[0].Trace = "sh\x1b[2Jop", "FAILED", "\x1b]0;title\x07 \u009b1m"
	var report, plan bytes.Buffer
	plans, err := Plans(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := Examine(f).Text(&report); err != nil {
		t.Fatal(err)
	}
	if err := plans[0].Text(&plan); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{report.String(), plan.String()} {
		if strings.ContainsAny(text, "\x1b\x07\u009b") || !strings.Contains(text, "sh\ufffd[2Jop") {
			t.Errorf("printed %q", text)
		}
	}
}

// What cannot be published, or under another name alone, is not to be added to a
// publication: the server would refuse that, or it would change nothing.
func TestWhatCannotBePublished(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*postgres.Inspected)
		want   []string
	}{
		{"a view", func(x *postgres.Inspected) { x.Table.Kind = 'v' }, nil},
		{"what a view keeps", func(x *postgres.Inspected) { x.Table.Kind = 'm' }, nil},
		{"a table elsewhere", func(x *postgres.Inspected) { x.Table.Kind = 'f' }, nil},
		{"a partition", func(x *postgres.Inspected) { x.Published.Above = "log.all" }, []string{"error partition (log.visits)"}},
	} {
		f := relayed(t)
		x := &f.Database.Tables[2]
		x.Published.In = false
		c.change(x)
		if got := unfine(judgePublication(f)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	f := relayed(t)
	f.Database.Publication.Found = false
	f.Database.Tables[2].Table.Kind = 'v'
	if made := missingPublication(f).Mend.SQL[0]; strings.Contains(made, "visits") || !strings.Contains(made, `FOR TABLE "public"."users" WITH`) {
		t.Errorf("it is to be made with a view: %s", made)
	}
}
