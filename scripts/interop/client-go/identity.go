package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// uncut gives a client connections of its own, which the check does not cut.
func uncut(config *rest.Config) { config.Dial = nil }

func (e *env) review(ctx context.Context, token string, audiences ...string) (authenticationv1.TokenReviewStatus, error) {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: audiences}}
	answer, err := e.kube.AuthenticationV1().TokenReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return authenticationv1.TokenReviewStatus{}, err
	}
	return answer.Status, nil
}

func tokenReview(ctx context.Context, e *env) error {
	bad, err := e.review(ctx, "no-such-token")
	if err != nil {
		return err
	}
	me, err := e.kube.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	errs := []error{
		expect("whether a bad token is taken", bad.Authenticated, false),
		expect("the user of a bad token", bad.User.Username, ""),
		expect("whether this client has a name", me.Status.UserInfo.Username != "", true),
		e.inProtobuf("POST", "/tokenreviews"),
	}
	if e.config.BearerToken != "" {
		good, err := e.review(ctx, e.config.BearerToken)
		if err != nil {
			return err
		}
		errs = append(errs,
			expect("whether this client's token is taken", good.Authenticated, true),
			expect("its user", good.User.Username, me.Status.UserInfo.Username),
			expect("its groups", fmt.Sprint(good.User.Groups), fmt.Sprint(me.Status.UserInfo.Groups)),
		)
	}
	return errors.Join(errs...)
}

func serviceAccountToken(ctx context.Context, e *env) error {
	accounts := e.kube.CoreV1().ServiceAccounts(e.namespace)
	made, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "agent"}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr[int64](3600)}}
	token, err := accounts.CreateToken(ctx, "agent", request, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	other := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{"proxy"}}}
	elsewhere, err := accounts.CreateToken(ctx, "agent", other, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	_, nobody := accounts.CreateToken(ctx, "nobody", request, metav1.CreateOptions{})
	good, err := e.review(ctx, token.Status.Token)
	if err != nil {
		return err
	}
	wrongAudience, err := e.review(ctx, token.Status.Token, "proxy")
	if err != nil {
		return err
	}
	rightAudience, err := e.review(ctx, elsewhere.Status.Token, "proxy", "other")
	if err != nil {
		return err
	}
	agent, err := e.client(func(config *rest.Config) { config.BearerToken, config.BearerTokenFile = token.Status.Token, "" })
	if err != nil {
		return err
	}
	me, err := agent.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	stranger, err := e.client(func(config *rest.Config) { config.BearerToken, config.BearerTokenFile = elsewhere.Status.Token, "" })
	if err != nil {
		return err
	}
	_, foreign := stranger.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	name := "system:serviceaccount:" + e.namespace + ":agent"
	groups := "system:serviceaccounts, system:serviceaccounts:" + e.namespace + ", system:authenticated"
	if err := accounts.Delete(ctx, "agent", metav1.DeleteOptions{}); err != nil {
		return err
	}
	return errors.Join(
		expect("whether the token is taken", good.Authenticated, true),
		expect("its user", good.User.Username, name),
		expect("its uid", good.User.UID, string(made.UID)),
		expect("its groups", strings.Join(good.User.Groups, ", "), groups),
		expect("the parts of the token", strings.Count(token.Status.Token, ".")+1, 3),
		expect("whether it ends", token.Status.ExpirationTimestamp.After(made.CreationTimestamp.Time), true),
		expect("whether it is taken for another audience", wrongAudience.Authenticated, false),
		expect("whether one for that audience is", rightAudience.Authenticated, true),
		expect("the audiences told", fmt.Sprint(rightAudience.Audiences), "[proxy]"),
		expect("who the token makes its bearer", me.Status.UserInfo.Username, name),
		refused("a token for another audience", foreign, apierrors.IsUnauthorized, "Unauthorized"),
		refused("a token for no account", nobody, apierrors.IsNotFound, "NotFound"),
		eventually(ctx, "the token to end with its account", func() (bool, error) {
			status, err := e.review(ctx, token.Status.Token)
			return !status.Authenticated, err
		}),
	)
}

func accessReviews(ctx context.Context, e *env) error {
	const user = "interop-someone"
	ask := func(groups []string, verb, group, resource, namespace, name string) (bool, error) {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, Groups: groups,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource, Namespace: namespace, Name: name},
		}}
		answer, err := e.kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return false, err
		}
		return answer.Status.Allowed, nil
	}
	admin, err := ask([]string{"system:masters"}, "delete", "", "nodes", "", "n")
	if err != nil {
		return err
	}
	before, err := ask(nil, "get", "", "configmaps", e.namespace, "a")
	if err != nil {
		return err
	}
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list"}, ResourceNames: []string{"a"}},
			{APIGroups: []string{"apps"}, Resources: []string{"*/scale", "deployments"}, Verbs: []string{"*"}},
		},
	}
	if _, err := e.kube.RbacV1().Roles(e.namespace).Create(ctx, role, metav1.CreateOptions{}); err != nil {
		return err
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
	}
	if _, err := e.kube.RbacV1().RoleBindings(e.namespace).Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return err
	}
	// An authorizer reads roles from a cache of its own.
	err = eventually(ctx, "the binding to count", func() (bool, error) { return ask(nil, "get", "", "configmaps", e.namespace, "a") })
	if err != nil {
		return err
	}
	errs := []error{expect("whether an administrator may", admin, true), expect("whether somebody may without a role", before, false)}
	for _, one := range []struct {
		verb, group, resource, namespace, name string
		want                                   bool
	}{
		{"get", "", "configmaps", e.namespace, "b", false},
		{"delete", "", "configmaps", e.namespace, "a", false},
		{"get", "", "configmaps", "default", "a", false},
		{"get", "", "configmaps", "", "a", false},
		{"patch", "apps", "deployments", e.namespace, "x", true},
		{"patch", "", "deployments", e.namespace, "x", false},
	} {
		got, err := ask(nil, one.verb, one.group, one.resource, one.namespace, one.name)
		errs = append(errs, err, expect(fmt.Sprint("the answer for ", one), got, one.want))
	}
	local := &authorizationv1.LocalSubjectAccessReview{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace},
		Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: e.namespace, Verb: "update", Group: "apps", Resource: "deployments", Subresource: "scale",
		}},
	}
	here, err := e.kube.AuthorizationV1().LocalSubjectAccessReviews(e.namespace).Create(ctx, local, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	mine := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"},
	}}
	self, err := e.kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, mine, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return errors.Join(append(errs,
		expect("whether a subresource is allowed", here.Status.Allowed, true),
		expect("whether oneself may", self.Status.Allowed, true),
		e.inProtobuf("POST", "/subjectaccessreviews"),
	)...)
}

func rulesReview(ctx context.Context, e *env) error {
	review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: e.namespace}}
	answer, err := e.kube.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	for _, rule := range answer.Status.ResourceRules {
		if fmt.Sprint(rule.Verbs, rule.APIGroups, rule.Resources) == "[*] [*] [*]" {
			return nil
		}
	}
	return fmt.Errorf("no rule allows an administrator everything: %v", answer.Status.ResourceRules)
}
