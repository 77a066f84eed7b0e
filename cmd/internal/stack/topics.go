package stack

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/segmentio/kafka-go"
)

// administer makes a client for the broker's topics, and ends it after f.
func (k *Kafka) administer(f func(*kafka.Client) error) error {
	transport := &kafka.Transport{ClientID: "administrator"}
	defer transport.CloseIdleConnections()
	return f(&kafka.Client{Addr: kafka.TCP(k.address), Transport: transport, Timeout: 10 * time.Second})
}

// Partitions is how many partitions a topic has.
func (k *Kafka) Partitions(ctx context.Context, topic string) (n int, err error) {
	err = k.administer(func(c *kafka.Client) error {
		m, err := c.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}})
		if err == nil {
			err, n = m.Topics[0].Error, len(m.Topics[0].Partitions)
		}
		return err
	})
	return n, err
}

// Widen gives a topic n partitions.
func (k *Kafka) Widen(ctx context.Context, topic string, n int) error {
	return k.administer(func(c *kafka.Client) error {
		m, err := c.CreatePartitions(ctx, &kafka.CreatePartitionsRequest{
			Topics: []kafka.TopicPartitionsConfig{{Name: topic, Count: int32(n)}},
		})
		if err == nil {
			err = m.Errors[topic]
		}
		return err
	})
}

// Recreate deletes a topic and makes another one of that name.
func (k *Kafka) Recreate(ctx context.Context, topic string, n int) error {
	return k.administer(func(c *kafka.Client) error {
		m, err := c.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{topic}})
		if err == nil {
			err = m.Errors[topic]
		}
		if err != nil {
			return fmt.Errorf("delete topic %s: %w", topic, err)
		}
		made, err := c.CreateTopics(ctx, &kafka.CreateTopicsRequest{
			Topics: []kafka.TopicConfig{{Topic: topic, NumPartitions: n, ReplicationFactor: 1}},
		})
		if err == nil {
			err = made.Errors[topic]
		}
		if errors.Is(err, kafka.TopicAlreadyExists) {
			return nil // somebody who misses it was faster
		}
		return err
	})
}

// Forget cuts a topic's log at its end, as retention does: all that is in it
// is gone. (The client has no words for this request.)
func (k *Kafka) Forget(ctx context.Context, topic string) error {
	n, err := k.Partitions(ctx, topic)
	if err != nil {
		return err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", k.broker)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	if _, err := conn.Write(deleteRecords(topic, n)); err != nil {
		return err
	}
	return deleted(conn, topic, n)
}

// deleteRecords is the request of that name, version 0: of n partitions all up
// to the end.
func deleteRecords(topic string, n int) []byte {
	const api, timeout = 21, 10_000
	var b []byte
	b = binary.BigEndian.AppendUint16(b, api)
	b = append(b, 0, 0, 0, 0, 0, 1, 0xff, 0xff) // version 0, correlation 1, no client id
	b = binary.BigEndian.AppendUint32(b, 1)     // topics
	b = binary.BigEndian.AppendUint16(b, uint16(len(topic)))
	b = append(b, topic...)
	b = binary.BigEndian.AppendUint32(b, uint32(n))
	for p := range n {
		b = binary.BigEndian.AppendUint32(b, uint32(p))
		b = binary.BigEndian.AppendUint64(b, ^uint64(0)) // -1: the end
	}
	b = binary.BigEndian.AppendUint32(b, timeout)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

// deleted reads the answer.
func deleted(r io.Reader, topic string, n int) error {
	head := make([]byte, 4+4+4+4+2+len(topic)+4) // size, correlation, throttle, topics, the name, partitions
	if _, err := io.ReadFull(r, head); err != nil {
		return err
	}
	for range n {
		p := make([]byte, 4+8+2) // index, low watermark, error
		if _, err := io.ReadFull(r, p); err != nil {
			return err
		}
		if code := kafka.Error(binary.BigEndian.Uint16(p[12:])); code != 0 {
			return fmt.Errorf("delete the records of partition %d: %w", binary.BigEndian.Uint32(p), code)
		}
	}
	return nil
}
