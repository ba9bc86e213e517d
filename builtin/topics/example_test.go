package topics_test

import (
	"context"
	"fmt"
	"log"

	"github.com/latent-go/latent/builtin/topics"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
)

// Four short documents of two topics.
func ExampleDefinition() {
	list := &fitted.Pairs{Names: [2][]string{{"1", "2", "3", "4"}, {"gene", "law", "vote", "cell"}}}
	for document := range 4 {
		for _, word := range [][]int{{0, 3}, {1, 2}}[document%2] {
			list.Index[0], list.Index[1] = append(list.Index[0], document), append(list.Index[1], word)
			list.Numbers = append(list.Numbers, float64(9+word))
		}
	}
	model, ctx := topics.Definition(nil), context.Background()
	method := model.Methods[0]
	bound, err := new(topics.Settings).Bind(ctx, &fitted.Table{Pairs: list}, fitted.Request{Method: method})
	if err != nil {
		log.Fatal(err)
	}
	o := framework.Options{K: bound.KMax, Restarts: 3, Method: method.Engine, Criterion: method.Criteria[0]}
	fit, err := bound.Fit(ctx, o)
	if err != nil {
		log.Fatal(err)
	}
	said, err := fit.Parameters.(fitted.ListScorer).ScoreList(ctx, list)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(bound.Data)
	fmt.Println(fit.Shape.K, "topics, the largest of each document:", said.Table.Values(1))
	// Output:
	// 4 documents of 4 different words, 84 tokens
	// 2 topics, the largest of each document: [1 2 1 2]
}
