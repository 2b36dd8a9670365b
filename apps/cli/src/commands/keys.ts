import { existsSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { IssuedKeyView, KeyView, NamespaceSummary, NamespaceView } from '#rollcall/client';
import { command, option, required, type Session } from '../command.js';
import { usageError } from '../failure.js';
import { age } from '../output/text.js';
import type { View } from '../output/view.js';
import { LIST_OPTIONS, printList } from './listing.js';

const ROLES = ['admin', 'operator', 'agent', 'caller', 'viewer'] as const;

const KEYS: View<KeyView> = {
  plural: 'keys',
  name: ({ id }) => id,
  columns: [
    { title: 'KEY', whole: true, value: ({ id }) => id },
    { title: 'NAME', value: ({ name }) => name },
    { title: 'ROLES', value: ({ roles }) => roles.join(',') },
    { title: 'NAMESPACE', value: ({ namespace }) => namespace },
    { title: 'STATUS', value: ({ status }) => status, state: true },
    { title: 'LAST USED', value: ({ lastUsedAt }, now) => age(lastUsedAt, now), right: true },
    { title: 'EXPIRES', value: ({ expiresAt }, now) => age(expiresAt, now), right: true },
    { title: 'SOURCE', value: ({ source }) => source, wide: true },
    { title: 'BY', value: ({ createdBy }) => createdBy, wide: true },
    { title: 'REPLACED BY', value: ({ replacedBy }) => replacedBy, wide: true },
  ],
};

const NAMESPACE_COLUMNS: View<NamespaceSummary>['columns'] = [
  { title: 'NAMESPACE', value: ({ name }) => name },
  { title: 'AGE', value: ({ createdAt }, now) => age(createdAt, now), right: true },
  { title: 'DESCRIPTION', value: ({ description }) => description },
  {
    title: 'LIMITS',
    value: ({ limits }) =>
      Object.entries(limits)
        .map((pair) => pair.join('='))
        .join(','),
    wide: true,
  },
  { title: 'BY', value: ({ createdBy }) => createdBy, wide: true },
];

const NAMESPACES: View<NamespaceSummary> = {
  plural: 'namespaces',
  name: ({ name }) => name,
  columns: NAMESPACE_COLUMNS,
};

const NAMESPACE: View<NamespaceView> = {
  ...NAMESPACES,
  columns: [
    ...NAMESPACE_COLUMNS,
    {
      title: 'USE',
      value: ({ use }) =>
        Object.entries(use)
          .map(([what, amount]) => `${amount} ${what}`)
          .join(', '),
    },
  ],
};

const SAVE = {
  save: option.text('FILE', 'Write the key to a new file that only you can read, instead of printing it.'),
} as const;

export const keyCommands = [
  command({
    name: 'keys list',
    about: 'List API keys. Their secrets are not stored.',
    example: 'rollcall keys list',
    permission: 'keys:manage',
    options: LIST_OPTIONS,
    run: async (session, _, options) => {
      const client = await session.client();
      await printList(session, KEYS, () => client.keys.list({}), options);
    },
  }),
  command({
    name: 'keys create',
    about: 'Issue an API key. Its secret is shown once.',
    example: 'rollcall keys create builder --roles agent --save $NEW.key',
    permission: 'keys:manage',
    arguments: { name: 'Name of the key.' },
    options: {
      roles: required(option.list('ROLES', 'Roles of the key.', { choices: ROLES })),
      for: option.text('NAMESPACE', 'Namespace of the key; * for all (default: that of the request).'),
      expires: option.duration('How long the key is valid, such as 30d.'),
      ...SAVE,
    },
    run: async (session, { name }, { roles, for: namespace, expires, save }) => {
      requireNewFile(session, save);
      const issued = await (
        await session.client()
      ).keys.issue({
        name,
        roles: roles ?? [],
        ...(namespace !== undefined && { namespace }),
        ...(expires !== undefined && { expiresAt: new Date(Date.now() + expires).toISOString() }),
      });
      await printKey(session, issued, save);
    },
  }),
  command({
    name: 'keys rotate',
    about: 'Replace an API key. The old one stays valid for a moment.',
    example: 'rollcall keys rotate $KEY --overlap 1h --save $NEW.key',
    permission: 'keys:manage',
    arguments: { id: 'Id of the key.' },
    options: { overlap: option.duration('How long the old key stays valid.'), ...SAVE },
    run: async (session, { id }, { overlap, save }) => {
      requireNewFile(session, save);
      const body = overlap === undefined ? {} : { overlapSeconds: Math.round(overlap / 1_000) };
      await printKey(session, await (await session.client()).keys.rotate(id, body), save);
    },
  }),
  command({
    name: 'keys revoke',
    about: 'Revoke an API key at once.',
    example: 'rollcall keys revoke $KEY --yes',
    permission: 'keys:manage',
    destroys: true,
    arguments: { id: 'Id of the key.' },
    run: async ({ client, output, confirm }, { id }) => {
      await confirm(`Revoke the key ${id}?`);
      await (await client()).keys.revoke(id);
      await output.done(`Revoked the key ${id}.`, { name: () => id }, { id, revoked: true });
    },
  }),
  command({
    name: 'namespaces list',
    about: 'List namespaces.',
    example: 'rollcall namespaces list',
    permission: 'namespaces:read',
    options: LIST_OPTIONS,
    run: async (session, _, options) => {
      const client = await session.client();
      await printList(session, NAMESPACES, () => client.namespaces.list({}), options);
    },
  }),
  command({
    name: 'namespaces get',
    about: 'Show a namespace with its limits.',
    example: 'rollcall namespaces get $NAMESPACE',
    permission: 'namespaces:read',
    arguments: { name: 'Name of the namespace.' },
    run: async ({ client, output }, { name }) =>
      await output.item(NAMESPACE, await (await client()).namespaces.get(name)),
  }),
  command({
    name: 'namespaces create',
    about: 'Create a namespace.',
    example: 'rollcall namespaces create $NEW --agents 50',
    permission: 'namespaces:manage',
    arguments: { name: 'Name of the namespace.' },
    options: {
      description: option.text('TEXT', 'What it is for.'),
      agents: option.number('COUNT', 'Most agents.'),
      keys: option.number('COUNT', 'Most keys.'),
      webhooks: option.number('COUNT', 'Most webhooks.'),
      requestsPerSecond: option.number('COUNT', 'Most requests per second.'),
    },
    run: async ({ client, output }, { name }, { description, ...given }) => {
      const limits = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
      const namespace = await (
        await client()
      ).namespaces.create({
        name,
        ...(description !== undefined && { description }),
        ...(Object.keys(limits).length > 0 && { limits }),
      });
      await output.done(`Created the namespace ${name}.`, NAMESPACES, namespace);
    },
  }),
  command({
    name: 'namespaces delete',
    about: 'Delete an empty namespace.',
    example: 'rollcall namespaces delete $NAMESPACE --yes',
    permission: 'namespaces:manage',
    destroys: true,
    arguments: { name: 'Name of the namespace.' },
    run: async ({ client, output, confirm }, { name }) => {
      await confirm(`Delete the namespace ${name}?`);
      await (await client()).namespaces.delete(name);
      await output.done(`Deleted the namespace ${name}.`, { name: () => name }, { name, deleted: true });
    },
  }),
];

/** Before the key exists, because its secret is shown only once. */
function requireNewFile({ io }: Session, save: string | undefined): void {
  if (save !== undefined && existsSync(resolve(io.folder, save)))
    throw usageError(`${save} exists. Choose another file for the key.`);
}

async function printKey(
  { io, output }: Session,
  { key, ...facts }: IssuedKeyView,
  save: string | undefined,
): Promise<void> {
  if (save === undefined) {
    output.note(`Created the key ${facts.id}. It is shown only once:`);
    return await output.done(key, { name: () => key }, { ...facts, key });
  }
  saveKey(resolve(io.folder, save), key);
  await output.done(`Created the key ${facts.id} in ${save}.`, KEYS, facts);
}

/** Writes a key to a new file that only its owner can read. */
export function saveKey(file: string, key: string): void {
  writeFileSync(file, `${key}\n`, { mode: 0o600, flag: 'wx' });
}
