import { z } from 'zod';
import { ALL_NAMESPACES, NAMESPACE_PATTERN } from '#rollcall/platform';
import { ROLES } from '../auth/permissions.js';
import { json, setting } from './setting.js';

const GroupRule = z.strictObject({
  group: z.string().min(1).max(255),
  roles: z.array(z.enum(ROLES)).min(1),
  namespace: z.string().refine((name) => name === ALL_NAMESPACES || NAMESPACE_PATTERN.test(name)),
});

/** Which namespaces a token of the identity provider gives access to. */
export const oidcAccess = {
  oidcNamespaceClaim: setting(z.string().min(1).default('namespace'), {
    env: 'ROLLCALL_OIDC_NAMESPACE_CLAIM',
    about:
      'Claim with the namespace of the token, or with a list of namespaces; `*` means all. Without this claim and without a matching group, the token belongs to `default`.',
    expects: 'the name of a claim',
  }),
  oidcGroupsClaim: setting(z.string().min(1).default('groups'), {
    env: 'ROLLCALL_OIDC_GROUPS_CLAIM',
    about: 'Claim with the groups that `auth.oidcGroups` refers to.',
    expects: 'the name of a claim',
  }),
  oidcGroups: setting(json().pipe(z.array(GroupRule)).default([]), {
    env: 'ROLLCALL_OIDC_GROUPS',
    about:
      'The roles that the members of a group have in a namespace. In the environment: one line of JSON, such as `[{"group":"team-a-dev","roles":["agent","viewer"],"namespace":"team-a"}]`.',
    expects: 'a list of objects with group, roles and namespace',
    defaultText: 'none',
  }),
};
