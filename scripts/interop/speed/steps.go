package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// plan says how much is measured.
type plan struct{ rounds, creates, writes, listed int }

// steps are measured in turns: one step on all servers, then the next one.
var steps = []func(*column, plan, int) error{createAlone, createTogether, watch(1), watch(10), watch(100), list}

const maps = "/api/v1/namespaces/speed/configmaps"

// object is like what controllers write, of some 500 bytes.
func object(kind, name, label string) string {
	data := ""
	if kind == "ConfigMap" {
		data = fmt.Sprintf(`,"data":{"a":%q,"b":%q}`, strings.Repeat("x", 200), strings.Repeat("y", 200))
	}
	return fmt.Sprintf(`{"apiVersion":"v1","kind":%q,"metadata":{"name":%q,"labels":{"of":%q}}%s}`, kind, name, label, data)
}

func create(c *column, name string, total, workers int) (float64, error) {
	names := make(chan string, total)
	for i := range total {
		names <- fmt.Sprintf("%s-%d", name, i)
	}
	close(names)
	errs := make([]error, workers)
	var all sync.WaitGroup
	begin := time.Now()
	for i := range workers {
		all.Go(func() {
			for name := range names {
				if err := c.client.post(maps, object("ConfigMap", name, "create")); err != nil {
					errs[i] = err
					return
				}
			}
		})
	}
	all.Wait()
	return float64(total) / time.Since(begin).Seconds(), errors.Join(errs...)
}

func createAlone(c *column, p plan, round int) error {
	rate, err := create(c, fmt.Sprintf("alone-%d", round), p.creates, 1)
	c.add("creates a second, 1 client", rate)
	return err
}

func createTogether(c *column, p plan, round int) error {
	rate, err := create(c, fmt.Sprintf("together-%d", round), p.creates, 10)
	c.add("creates a second, 10 clients", rate)
	return err
}

// arrival is a write as a watcher saw it.
type arrival struct {
	name string
	at   time.Time
	err  error
}

// watch measures from before a write to when each of some watchers has read its event.
func watch(watchers int) func(*column, plan, int) error {
	return func(c *column, p plan, round int) error {
		label := fmt.Sprintf("watch-%d-%d", watchers, round)
		arrivals := make(chan arrival, watchers*(p.writes+1))
		// The watchers have a connection of their own, as informers have.
		reader, err := newClient(c.config)
		if err != nil {
			return err
		}
		defer reader.http.CloseIdleConnections()
		var ends []func() error
		defer func() {
			for _, end := range ends {
				_ = end()
			}
		}()
		for range watchers {
			response, err := reader.request(http.MethodGet, maps+"?watch=true&labelSelector=of%3D"+label, "")
			if err != nil {
				return err
			}
			ends = append(ends, response.Body.Close)
			go read(bufio.NewReader(response.Body), label, arrivals)
		}
		var latencies []float64
		for i := range p.writes {
			name := fmt.Sprintf("%s-%d", label, i)
			begin := time.Now()
			if err := c.client.post(maps, object("ConfigMap", name, label)); err != nil {
				return err
			}
			for range watchers {
				select {
				case seen := <-arrivals:
					if seen.err != nil {
						return seen.err
					}
					if seen.name != name {
						return fmt.Errorf("a watcher told of %s, not of %s", seen.name, name)
					}
					latencies = append(latencies, seen.at.Sub(begin).Seconds()*1000)
				case <-time.After(10 * time.Second):
					return fmt.Errorf("an event of %s did not come", name)
				}
			}
		}
		slices.Sort(latencies)
		c.add(fmt.Sprintf("write to event, %d watchers, median ms", watchers), latencies[len(latencies)/2])
		c.add(fmt.Sprintf("write to event, %d watchers, 99 %% ms", watchers), latencies[len(latencies)*99/100])
		return nil
	}
}

// read notes when events come. The time is taken before anything is made of them.
func read(lines *bufio.Reader, label string, arrivals chan<- arrival) {
	for {
		line, err := lines.ReadBytes('\n')
		at := time.Now()
		if err != nil {
			arrivals <- arrival{err: fmt.Errorf("a watch ended: %w", err)}
			return
		}
		if !bytes.Contains(line, []byte(label)) {
			continue
		}
		var event struct {
			Object struct {
				Metadata struct {
					Name string `json:"name"`
				} `json:"metadata"`
			} `json:"object"`
		}
		err = json.Unmarshal(line, &event)
		arrivals <- arrival{name: event.Object.Metadata.Name, at: at, err: err}
	}
}

func list(c *column, p plan, round int) error {
	if round == 0 {
		if err := c.client.post("/api/v1/namespaces", object("Namespace", "listed", "")); err != nil {
			return err
		}
		for i := range p.listed {
			if err := c.client.post("/api/v1/namespaces/listed/configmaps", object("ConfigMap", fmt.Sprintf("l-%d", i), "list")); err != nil {
				return err
			}
		}
	}
	for range 5 {
		begin := time.Now()
		size, err := c.client.send(http.MethodGet, "/api/v1/namespaces/listed/configmaps", "")
		if err != nil {
			return err
		}
		// An answer that is cut short would be a fast one.
		if size < int64(p.listed*500) {
			return fmt.Errorf("the list has %d bytes only", size)
		}
		c.add(fmt.Sprintf("list of %d, ms", p.listed), time.Since(begin).Seconds()*1000)
	}
	if round == p.rounds-1 {
		return c.memory("memory at the end, MiB")
	}
	return nil
}

func median(values []float64) float64 {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}

// printTable prints the medians over all rounds, and how far ahead the embedded server is of each other.
func printTable(columns []*column) {
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	defer out.Flush()
	fmt.Fprint(out, "measured\t")
	for _, column := range columns {
		fmt.Fprintf(out, "%s\t", column.Server)
	}
	fmt.Fprintln(out, "ahead by")
	for _, row := range order(columns[0]) {
		fmt.Fprintf(out, "%s\t", row)
		own := median(columns[0].Rows[row])
		var factors []string
		for _, column := range columns {
			value := median(column.Rows[row])
			fmt.Fprintf(out, "%.4g\t", value)
			factor := value / own
			if strings.Contains(row, "a second") {
				factor = own / value
			}
			factors = append(factors, fmt.Sprintf("%.1f", factor))
		}
		fmt.Fprintln(out, strings.Join(factors[1:], ", "))
	}
}

func order(c *column) []string {
	rank := func(row string) int {
		for i, start := range []string{"start-up", "creates a second, 1 ", "creates", "write to event, 1 ", "write to event, 10 ", "write", "list", "memory after", "memory"} {
			if strings.HasPrefix(row, start) {
				return i
			}
		}
		return 100
	}
	var rows []string
	for row := range c.Rows {
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b string) int { return cmp.Or(rank(a)-rank(b), -strings.Compare(a, b)) })
	return rows
}
