// Command olm runs operator-framework's own validation on the bundles in the folders that it
// is given, and prints a line for each error and each warning. It fails if there is one. As "olm catalog" it
// prints a file-based catalog of bundles.
//
// Two validators are left out: that of package manifests, a format that bundles have replaced,
// and that of architectures, which pulls images.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	"github.com/operator-framework/api/pkg/validation/errors"
	validator "github.com/operator-framework/api/pkg/validation/interfaces"
)

var validators = validator.Validators{
	validation.ClusterServiceVersionValidator,
	validation.CustomResourceDefinitionValidator,
	validation.BundleValidator,
	validation.OperatorHubV2Validator,
	validation.StandardCapabilitiesValidator,
	validation.StandardCategoriesValidator,
	validation.ObjectValidator,
	validation.OperatorGroupValidator,
	validation.CommunityOperatorValidator,
	validation.AlphaDeprecatedAPIsValidator,
	validation.GoodPracticesValidator,
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: olm BUNDLE...\n       olm catalog IMAGE=BUNDLE...")
		os.Exit(2)
	}
	if os.Args[1] == "catalog" {
		if err := writeCatalog(context.Background(), os.Args[2:], os.Stdout); err != nil {
			fmt.Fprintf(os.Stderr, "olm: %v\n", err)
			os.Exit(1)
		}
		return
	}
	found := 0
	for _, dir := range os.Args[1:] {
		problems, err := validate(dir)
		if err != nil {
			fmt.Fprintf(os.Stderr, "olm: %s: %v\n", dir, err)
			os.Exit(2)
		}
		for _, problem := range problems {
			fmt.Printf("%s: %s\n", dir, problem)
		}
		found += len(problems)
	}
	if found > 0 {
		os.Exit(1)
	}
}

// validate returns what the validators say about the bundle in a folder.
func validate(dir string) ([]string, error) {
	bundle, err := manifests.GetBundleFromDir(dir)
	if err != nil {
		return nil, err
	}
	var problems []string
	for _, result := range validators.Validate(bundle.ObjectsToValidate()...) {
		for _, problem := range result.Errors {
			problems = append(problems, problem.Error())
		}
		for _, problem := range result.Warnings {
			if !isOfRule(problem) {
				problems = append(problems, problem.Error())
			}
		}
	}
	wrong, err := validateExamples(bundle)
	return append(problems, wrong...), err
}

// isOfRule says whether a warning about a removed version of an API is about a rule of a Role. A
// rule names a group and no version, so the validators warn of each whose group once had another
// one, such as that of events.
func isOfRule(warning errors.Error) bool {
	return strings.Contains(warning.Error(), "deprecated and removed") && strings.Contains(warning.Error(), "StrategySpec.Permissions[")
}
