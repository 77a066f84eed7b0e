package doctor

// Judge says what is right and wrong with a deployment, from what is known of
// it. It asks nobody: the same facts have the same findings.
func Judge(f *Facts) []Finding {
	var all findings
	for _, judge := range []func(*Facts) findings{
		judgeSource, judgeServer, judgeRights, judgeTables, judgePublication, judgeSlot, judgeFailover, judgeReplicas, judgeAccepted,
		judgeTopics, judgeStreams, judgeClock, judgeBounds,
		judgeConnectors, judgeRows, judgeNodes, judgeRelay, judgeListeners,
	} {
		all = append(all, judge(f)...)
	}
	return all
}

// Worst is the level of the worst finding.
func Worst(all []Finding) Level { return findings(all).worst() }
