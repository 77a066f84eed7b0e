package doctor

import (
	"slices"
	"strings"
	"testing"

	"github.com/freshet-cache/freshet/cdc/event"
)

// mendOf returns the mend of a finding, which has to be there.
func mendOf(t *testing.T, all findings, title string) *Mend {
	t.Helper()
	for i := range all {
		if all[i].title() == title && all[i].Mend != nil {
			return all[i].Mend
		}
	}
	t.Fatalf("no mend of %s", title)
	return nil
}

// Whoever has a connector has no relay that could be started, or wait.
func TestFindingsOfAConnectorNameNoRelay(t *testing.T) {
	for _, w := range wrongs {
		f, like := captured(t), relayed(t)
		f.Relays, f.Replicas, f.File = like.Relays, like.Replicas, &File{}
		f.Database.Tables, f.Topics[0].Stream.Last = like.Database.Tables, &event.StreamID{}
		w.make(f)
		f.Relays, f.File = nil, nil
		for _, finding := range judge(f) {
			words := []string{finding.Wanted, finding.Why}
			if finding.Mend != nil {
				words = append(words, finding.Mend.Do)
			}
			if text := strings.Join(words, "; "); strings.Contains(text, "relay") {
				t.Errorf("%s: %s: %s", w.what, finding.title(), text)
			}
		}
	}
}

// Two parts of one machine are not told to share a port.
func TestMendOfAnAdminPortKeepsThePort(t *testing.T) {
	f := relayed(t)
	f.Config.Relay.Admin = ":6481"
	if got := mendOf(t, judge(f), "admin port (:6481)").Config["relay.admin"]; got != "127.0.0.1:6481" {
		t.Errorf("relay.admin: %s", got)
	}
}

// What a connector adds to records for others stays.
func TestMendOfFieldsKeepsThoseOfOthers(t *testing.T) {
	f := captured(t)
	f.Connectors[0].Config["transforms"] += ",flat"
	f.Connectors[0].Config["transforms.flat.type"] = "io.debezium.transforms.ExtractNewRecordState"
	f.Connectors[0].Config["transforms.flat.add.fields"] = "lsn, op"
	mend := mendOf(t, judge(f), "fields of flat (shop)").Connector["transforms.flat.add.fields"]
	if want := "lsn,op,schema,table,source.txId,source.snapshot"; mend != want {
		t.Errorf("add.fields: %s, want %s", mend, want)
	}
}

// A publication that others make has the tables of checkpoints, too, as far as
// they are there.
func TestMendOfAPublicationHasTheCheckpoints(t *testing.T) {
	f := captured(t)
	f.Database.Publication.Found, f.Database.Checkpoints[1].Found = false, false
	sql := mendOf(t, judge(f), "publication (dbz_publication)").SQL[0]
	if !strings.Contains(sql, `"freshet_checkpoint"`) || strings.Contains(sql, `"freshet_checkpoint_2"`) {
		t.Error(sql)
	}
}

// Kafka Connect shows ${env:NAME} where it keeps a name elsewhere, and nobody
// is called that.
func TestPlanForAUserThatIsNotKnown(t *testing.T) {
	f := captured(t)
	f.Connectors[0].Config["database.user"] = "${env:CAPTURE_USER}"
	plans, err := Plans(f)
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(plans[0].SQL, func(s string) bool { return strings.Contains(s, "GRANT") }); i >= 0 {
		t.Error(plans[0].SQL[i])
	}
	var text strings.Builder
	if err := plans[0].Text(&text); err != nil || !strings.Contains(text.String(), "GRANT it SELECT and UPDATE") {
		t.Errorf("%v: %s", err, &text)
	}
}
