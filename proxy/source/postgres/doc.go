// Package postgres answers keys from the tables of a PostgreSQL database, and
// holds what reading one takes: [Config], [Conn] with the [Settings] that every
// session has, the catalog ([Describe]) and the codec ([Column.Field]), which
// the relay of the log uses too.
package postgres
