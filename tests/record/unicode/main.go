// unicode writes src/regex/unicode_data.c: the character classes and the case folding of Go's package unicode, which
// the regular expressions of kube-scheduler use. The result depends on the version of Go alone: take the one that
// the Kubernetes release is built with.
//
//	go run ./unicode > ../../src/regex/unicode_data.c
package main

import (
	"bufio"
	"fmt"
	"os"
	"sort"
	"strings"
	"unicode"
)

const header = `/* unicode_data.c: characters by category and script, and which are the same but for their case; generated from Unicode
 * %s as Go's package unicode has it, by tests/record/unicode.
 *
 * A class is its name and its ranges, each written as two numbers: how far it begins behind the end of the one before,
 * and how much longer than one character it is. A number is written in digits of five bits, lowest first; a sixth bit
 * says that more follow. The digits are 0-9 A-Z a-z + -. A space ends the name, and another one the ranges. The
 * categories of one letter are left out: they are the union of those of two letters that begin with it. */
#include "regex/regex_impl.h"

`

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+-"

// number writes a number in digits of five bits.
func number(out *strings.Builder, value rune) {
	for ; value >= 32; value >>= 5 {
		out.WriteByte(digits[value&31|32])
	}
	out.WriteByte(digits[value])
}

// ranges writes all characters of the table, in ranges that do not touch each other.
func ranges(table *unicode.RangeTable) string {
	var out strings.Builder
	var end rune
	for c := rune(0); c <= unicode.MaxRune; c++ {
		if !unicode.Is(table, c) {
			continue
		}
		first := c
		for c < unicode.MaxRune && unicode.Is(table, c+1) {
			c++
		}
		number(&out, first-end)
		number(&out, c-first)
		end = c
	}
	return out.String()
}

type fold struct{ first, last, delta, step rune }

// folds covers all characters that have others of their case with runs of characters that are one or two apart and turn
// into those `delta` further. A run begins with the least character that no other one has, and takes as many as it can.
func folds() []fold {
	delta := map[rune]rune{}
	var order []rune
	for c := rune(0); c <= unicode.MaxRune; c++ {
		if next := unicode.SimpleFold(c); next != c {
			delta[c] = next - c
			order = append(order, c)
		}
	}
	done := map[rune]bool{}
	var all []fold
	for _, c := range order {
		if done[c] {
			continue
		}
		run := fold{c, c, delta[c], 1}
		for _, step := range []rune{1, 2} {
			last := c
			for !done[last+step] && delta[last+step] == delta[c] {
				last += step
			}
			if (last-c)/step > (run.last-run.first)/run.step {
				run.last, run.step = last, step
			}
		}
		for x := run.first; x <= run.last; x += run.step {
			done[x] = true
		}
		all = append(all, run)
	}
	return all
}

func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	tables := map[string]*unicode.RangeTable{}
	for name, table := range unicode.Categories {
		tables[name] = table
	}
	for name, table := range unicode.Scripts {
		tables[name] = table
	}
	var names []string
	for name := range tables {
		if len(name) > 1 {
			names = append(names, name)
		}
	}
	sort.Strings(names)

	fmt.Fprintf(out, header, strings.SplitN(unicode.Version, ".", 2)[0])
	text := ""
	for _, name := range names {
		text += name + " " + ranges(tables[name]) + " "
	}
	fmt.Fprintf(out, "const char unicode_classes[] =")
	const columns = 104
	for len(text) > 0 {
		part := text[:min(columns, len(text))]
		text = text[len(part):]
		fmt.Fprintf(out, "\n    %q", part)
	}
	fmt.Fprintf(out, ";\n\nconst struct unicode_fold unicode_folds[] = {\n")
	for _, f := range folds() {
		fmt.Fprintf(out, "    { 0x%X, 0x%X, %d, %d },\n", f.first, f.last, f.delta, f.step)
	}
	fmt.Fprintf(out, "};\n\nconst size_t unicode_folds_len = ARRAY_SIZE(unicode_folds);\n")
}
