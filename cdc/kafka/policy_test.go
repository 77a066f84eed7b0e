package kafka

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

func TestUnfitTopics(t *testing.T) {
	fit := policy{cleanup: "delete", retention: 24 * time.Hour, maxBytes: 1 << 20, inSync: 1, replicas: 1}
	for _, c := range []struct {
		what   string
		change func(*policy)
		unfit  string
		weak   string
	}{
		{"as it should be", func(*policy) {}, "", ""},
		{"nothing known", func(p *policy) { *p = policy{} }, "", ""},
		{"kept for ever", func(p *policy) { p.retention = -1 }, "", ""},
		{"compacts too", func(p *policy) { p.cleanup = "compact,delete" }, "set it to delete", ""},
		{"kept for a minute", func(p *policy) { p.retention = time.Minute }, "retention.ms is 60000", ""},
		{"small batches", func(p *policy) { p.maxBytes = 1000 }, "max.message.bytes is 1000", ""},
		{"more in sync than there are", func(p *policy) { p.inSync = 2 }, "nothing is ever acknowledged", ""},
		{"one in sync of three", func(p *policy) { p.replicas = 3 }, "", "set it to 2"},
		{"two in sync of three", func(p *policy) { p.replicas, p.inSync = 3, 2 }, "", ""},
	} {
		p := fit
		c.change(&p)
		if got := p.unfit(512 << 10); (got == "") != (c.unfit == "") || !strings.Contains(got, c.unfit) {
			t.Errorf("%s: unfit because %q", c.what, got)
		}
		if got := p.weak(); (got == "") != (c.weak == "") || !strings.Contains(got, c.weak) {
			t.Errorf("%s: weak because %q", c.what, got)
		}
	}
}

func TestPolicyIsRead(t *testing.T) {
	c := cluster(t)
	set := map[string]string{"cleanup.policy": "delete", "retention.ms": "90000", "max.message.bytes": "12345", "min.insync.replicas": "1"}
	if err := c.CreateTopic(topic, 2, set); err != nil {
		t.Fatal(err)
	}
	p := producer(t, options(c.ListenAddrs()))
	got, err := p.client.policy(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if want := (policy{"delete", 90 * time.Second, 12345, 1, 1}); got != want {
		t.Errorf("read %+v, want %+v", got, want)
	}
	var unfit *UnfitTopicError
	if err := p.EnsureTopic(within(t), 2); !errors.As(err, &unfit) || !strings.Contains(err.Error(), "retention.ms") {
		t.Errorf("a topic that keeps nothing: %v", err)
	}
}

// With three replicas, two have to have a record before it counts.
func TestReplicatedTopicIsMadeSafe(t *testing.T) {
	c := cluster(t, kfake.NumBrokers(3))
	opts := options(c.ListenAddrs())
	opts.Replication = 3
	if err := producer(t, opts).EnsureTopic(within(t), 1); err != nil {
		t.Fatal(err)
	}
	if got := c.TopicInfo(topic).Configs["min.insync.replicas"]; got == nil || *got != "2" {
		t.Errorf("min.insync.replicas is %v", got)
	}
}

func TestRetentionOfNothing(t *testing.T) {
	for value, unfit := range map[string]bool{"0": true, "": false, "3600000": false} {
		var p policy
		if p.take("retention.ms", value); (p.unfit(0) != "") != unfit {
			t.Errorf("%q: unfit because %q", value, p.unfit(0))
		}
	}
}

func TestRetentionWithoutEnd(t *testing.T) {
	for _, value := range []string{"-1", "9223372036854775807"} {
		var p policy
		if p.take("retention.ms", value); p.retention >= 0 {
			t.Errorf("%s: %v", value, p.retention)
		}
	}
}
