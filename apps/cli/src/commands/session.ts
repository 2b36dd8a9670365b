import { resolve } from 'node:path';
import type { MeView } from '#rollcall/client';
import { command, option, type Session } from '../command.js';
import { type Context, ContextFile } from '../connection/context.file.js';
import { readKey } from '../connection/connection.js';
import { usageError } from '../failure.js';
import { age } from '../output/text.js';
import type { View } from '../output/view.js';

const ME: View<MeView & { url: string; keyFrom: string }> = {
  plural: 'credentials',
  name: ({ id }) => id,
  columns: [
    { title: 'ID', value: ({ id }) => id },
    { title: 'NAME', value: ({ name }) => name },
    { title: 'ROLES', value: ({ roles }) => roles.join(', ') },
    { title: 'NAMESPACE', value: ({ namespace }) => namespace },
    { title: 'EXPIRES', value: ({ expiresAt }, now) => age(expiresAt, now) },
    { title: 'SERVER', value: ({ url }) => url },
    { title: 'KEY FROM', value: ({ keyFrom }) => keyFrom },
  ],
};

/** A context without its key. */
interface ContextRow {
  readonly name: string;
  readonly current: boolean;
  readonly url: string;
  readonly namespace: string | null;
  readonly hasKey: boolean;
}

const CONTEXTS: View<ContextRow> = {
  plural: 'contexts. Create one with: rollcall login',
  name: ({ name }) => name,
  columns: [
    { title: 'CURRENT', value: ({ current }) => (current ? '*' : ' ') },
    { title: 'CONTEXT', value: ({ name }) => name },
    { title: 'SERVER', value: ({ url }) => url },
    { title: 'NAMESPACE', value: ({ namespace }) => namespace },
    { title: 'KEY', value: ({ hasKey }) => (hasKey ? 'stored' : null) },
  ],
};

export const sessionCommands = [
  command({
    name: 'login',
    about: 'Check a key, and store it with the server as a context.',
    details:
      'The key is read from the terminal, from --key-file, or with --stdin from stdin. It is never an argument, which other users could see.',
    example: 'rollcall login --url http://127.0.0.1:8080 --key-file .rollcall/admin.key --as local',
    permission: 'self:read',
    options: {
      as: option.text('NAME', 'Name of the context (default: the host of the server).'),
      stdin: option.flag('Read the key from stdin.'),
    },
    run: async (session, _, options) => await signIn(session, options),
  }),
  command({
    name: 'whoami',
    about: 'Show the key in use and where it was found.',
    example: 'rollcall whoami',
    permission: 'self:read',
    run: async ({ client, connection, output }) => {
      const { url, keyFrom } = connection;
      await output.item(ME, { ...(await (await client()).me.get()), url, keyFrom });
    },
  }),
  command({
    name: 'context list',
    about: 'List your contexts.',
    example: 'rollcall context list',
    run: async ({ io, output }) => {
      const { current, contexts } = new ContextFile(io).read();
      await output.list(
        CONTEXTS,
        Object.entries(contexts).map(([name, one]) => rowOf(name, one, name === current)),
      );
    },
  }),
  command({
    name: 'context use',
    about: 'Use another context from now on.',
    example: 'rollcall context use $CONTEXT',
    arguments: { name: 'Name of the context.' },
    run: async ({ io, output }, { name }) => {
      const file = new ContextFile(io);
      file.use(name);
      const found = file.find(name);
      if (found) await output.done(`Using ${name} (${found.context.url}).`, CONTEXTS, rowOf(name, found.context, true));
    },
  }),
  command({
    name: 'context delete',
    about: 'Delete a context and its stored key. The key stays valid.',
    example: 'rollcall context delete $CONTEXT --yes',
    destroys: true,
    arguments: { name: 'Name of the context.' },
    run: async ({ io, output, confirm }, { name }) => {
      const file = new ContextFile(io);
      file.find(name);
      await confirm(`Delete the context ${name}?`);
      file.remove(name);
      await output.done(`Deleted the context ${name}.`, { name: () => name }, { name, deleted: true });
    },
  }),
];

function rowOf(name: string, { url, namespace, key }: Context, current: boolean): ContextRow {
  return { name, current, url, namespace: namespace ?? null, hasKey: key !== undefined };
}

async function signIn(session: Session, { as, stdin }: { as: string | undefined; stdin: boolean }): Promise<void> {
  const { io, output, globals } = session;
  const { url, namespace } = session.connection;
  const key = await keyFor(session, stdin);
  const { rollcallClient } = await import('#rollcall/client');
  const me = await rollcallClient({ url, credential: key, retries: 2 }).me.get();
  const name = as ?? globals.context ?? new URL(url).host;
  const file = new ContextFile(io);
  file.save(name, { url, key, ...(namespace !== undefined && { namespace }) });
  await output.done(`Signed in to ${url} as ${me.name} (${me.roles.join(', ')}). The context is ${name}.`, ME, {
    ...me,
    url,
    keyFrom: `the context ${name}`,
  });
}

async function keyFor({ connection, io, globals }: Session, stdin: boolean): Promise<string> {
  if (globals.keyFile !== undefined) return readKey(resolve(io.folder, globals.keyFile));
  if (!stdin && !io.isInteractive)
    throw usageError('There is no terminal to type the key: use --key-file FILE or --stdin.');
  const key = (stdin ? await io.readInput() : await io.ask(`Key for ${connection.url}: `, { hidden: true })).trim();
  if (!/^[\u0021-\u007e]+$/.test(key)) throw usageError('A key is one word without spaces.');
  return key;
}
