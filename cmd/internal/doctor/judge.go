package doctor

// judge says what is right and wrong with a deployment, from what is known of
// it. It asks nobody: the same facts have the same findings.
func judge(f *Facts) findings {
	var all findings
	for _, of := range []func(*Facts) findings{
		judgeSource, judgeServer, judgeRights, judgeTables, judgePublication, judgeSlot, judgeFailover, judgeReplicas, judgeAccepted,
		judgeTopics, judgeStreams, judgeClock, judgeBounds,
		judgeConnectors, judgeRows, judgeNodes, judgeRelays, judgeListeners,
	} {
		all = append(all, of(f)...)
	}
	return all
}
