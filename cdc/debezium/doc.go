// Package debezium decodes the records of Debezium's connectors.
package debezium
