package mixture_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime/debug"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"
)

type stopper struct{ msg string }

func (s *stopper) Errorf(f string, a ...any) { s.msg += fmt.Sprintf(f, a...) }
func (s *stopper) FailNow()                  { panic(s) }

func TestExplore(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("EXPLORE"))
	if n == 0 {
		t.Skip()
	}
	base, _ := strconv.Atoi(os.Getenv("BASE"))
	kinds := map[string]int{}
	first := map[string]string{}
	fitted := map[string]int{}
	errs := map[string]int{}
	total := map[string]int{}
	num := regexp.MustCompile(`[-+]?[0-9][0-9.e+-]*`)
	var slow time.Duration
	for i := range n {
		seed := uint64(base + i)
		rng := rand.New(rand.NewPCG(seed, 99))
		h := newHostileCase(func(n int) int { return rng.IntN(n) })
		ok := false
		begin := time.Now()
		done := make(chan bool)
		go func() {
			select {
			case <-done:
			case <-time.After(10 * time.Second):
				fmt.Println("HANG", seed, h)
				debug.SetTraceback("all")
				panic("hang")
			}
		}()
		msg := func() (msg string) {
			defer func() {
				if r := recover(); r != nil {
					if s, is := r.(*stopper); is {
						msg = s.msg
						st := string(debug.Stack())
						for _, l := range regexp.MustCompile(`hostile_test.go:\d+`).FindAllString(st, -1) {
							msg = l + "|" + msg
						}
					} else {
						msg = fmt.Sprint("PANIC ", r, "\n", string(debug.Stack()))
					}
				}
			}()
			err := h.survives(&stopper{})
			ok = err == nil
			if err != nil {
				e := num.ReplaceAllString(strings.Split(err.Error(), "\n")[0], "#")
				if len(e) > 200 {
					e = e[:200]
				}
				errs[e]++
				if g := os.Getenv("FIND"); g != "" && strings.Contains(err.Error(), g) && errs[e] < 6 {
					fmt.Println("FOUND", seed, h, err)
				}
			}
			return ""
		}()
		close(done)
		if d := time.Since(begin); d > slow {
			slow = d
			fmt.Println("slowest", seed, d)
		}
		key := fmt.Sprintf("%T%v %s", h.family, h.family, h.model)
		if strings.Contains(key, "Product") {
			key = "product " + h.model
		}
		total[key]++
		if ok {
			fitted[key]++
		}
		if msg != "" {
			if len(msg) > 3000 {
				msg = msg[:3000]
			}
			k := num.ReplaceAllString(msg, "#")
			if len(k) > 330 {
				k = k[:330]
			}
			kinds[k]++
			if _, has := first[k]; !has {
				first[k] = fmt.Sprintf("seed %d: %v\n%s", seed, h, msg)
			}
		}
	}
	var keys []string
	for k := range kinds {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool { return kinds[keys[i]] > kinds[keys[j]] })
	for i, k := range keys {
		if i < 25 {
			fmt.Printf("=== %d times\n%s\n", kinds[k], first[k])
		}
	}
	if os.Getenv("RATES") != "" {
		for k, v := range total {
			fmt.Println(k, fitted[k], "of", v)
		}
		for k, v := range errs {
			fmt.Println("ERR", v, k)
		}
	}
	bad := 0
	for _, v := range kinds {
		bad += v
	}
	fmt.Println(len(keys), "kinds", bad, "of", n)
}
