import { resolve } from 'node:path';
import type { DemoAddress, PlayedScene } from '../demo/demo.js';
import type { View } from '../output/view.js';
import { command, option } from '../command.js';
import { consoleLink } from '../connection/console.link.js';
import { EXIT, usageError } from '../failure.js';
import type { Io } from '../io.js';

const SCENES: View<PlayedScene> = {
  plural: 'scenes',
  name: ({ scene }) => scene,
  columns: [
    { title: 'TIME', value: ({ time }) => time, width: 5, right: true },
    { title: 'RESULT', value: ({ result }) => result, width: 6, state: true },
    {
      title: 'SCENE',
      whole: true,
      value: ({ scene, detail }) => (detail === null ? scene : `${scene}: ${detail}`),
      width: 68,
    },
    { title: 'LOOK AT', whole: true, value: ({ look }) => look, width: 40 },
  ],
};

async function* tapped<Item>(items: AsyncIterable<Item>, look: (item: Item) => unknown): AsyncGenerator<Item, void> {
  for await (const item of items) {
    look(item);
    yield item;
  }
}

/** npm starts the program of a checkout, which is in no folder of `PATH`. */
function welcome({ url, keyFile, console }: DemoAddress, env: Io['env']): string {
  const rollcall = env['npm_lifecycle_event'] === undefined ? 'rollcall' : 'npx rollcall';
  return `
  API      ${url}
  Docs     ${url}/docs
  Console  ${console}
           (this link signs you in once, within a minute; later: ${rollcall} console)
  Key      ${keyFile}

In another terminal:
  export ROLLCALL_URL=${url} ROLLCALL_KEY_FILE=${keyFile}
  ${rollcall} agents list --watch
`;
}

export const serverCommands = [
  command({
    name: 'start',
    about: 'Start a server in this process.',
    details:
      'All other settings are environment variables, or lines of .env or rollcall.yaml: see docs/configuration.md.',
    example: 'rollcall start --port 8080',
    options: {
      port: option.text('PORT', 'Port to listen on; 0 chooses any free port (default 8080).'),
      host: option.text('ADDRESS', 'Address to listen on (default 127.0.0.1).'),
      databaseUrl: option.text('URL', 'URL of an external Postgres (default: an embedded Postgres).'),
      dataDir: option.text('FOLDER', 'Folder of the embedded Postgres (default .rollcall).'),
      config: option.text('FILE', 'Configuration file (default rollcall.yaml).'),
      logFormat: option.text('FORMAT', 'auto, pretty or json (default auto).'),
    },
    // bin/rollcall.js starts the server without loading the command line, if `start` is the first word
    run: async () => await Promise.reject(usageError('`start` must be the first word: rollcall start [options].')),
  }),
  command({
    name: 'migrate',
    about: 'Migrate the database of DATABASE_URL, and end.',
    details:
      'A replica migrates the database when it starts, if that is necessary. With this command, another role of Postgres does it before, and the role of the replicas need not change the schema: see docs/deployment.md.',
    example: 'rollcall migrate --database-url postgresql://owner@db/rollcall',
    options: {
      databaseUrl: option.text('URL', 'URL of the Postgres (default: DATABASE_URL).'),
      config: option.text('FILE', 'Configuration file (default rollcall.yaml).'),
    },
    // bin/rollcall.js migrates without loading the command line, if `migrate` is the first word
    run: async () => await Promise.reject(usageError('`migrate` must be the first word: rollcall migrate [options].')),
  }),
  command({
    name: 'demo',
    about: 'Start a demo: two replicas, a Postgres and a dozen agents, with data of its own.',
    details:
      'In a loop of three minutes, agents join, fall silent and recover, a circuit opens and heals, a budget is exhausted, runs delegate, wait for approval and survive the death of a replica, and contracts are awarded and expire. It prints a link to the console. It needs no model, no key and no network.',
    example: 'rollcall demo --once --speed 20',
    options: {
      once: option.flag('End after one loop. The exit code is 1 if a scene has failed.'),
      speed: option.number('FACTOR', 'Shorten the pauses between scenes by this factor (default 1).'),
      seed: option.number('NUMBER', 'The same seed gives the same story (default 1).'),
      reset: option.flag('Delete the data of the last demo first.'),
      folder: option.text('FOLDER', 'Where its data is (default .rollcall/demo).'),
    },
    run: async ({ io, output }, _, { once, speed = 1, seed = 1, reset, folder = '.rollcall/demo' }) => {
      if (speed <= 0) throw usageError('--speed must be more than 0.');
      const { Demo } = await import('../demo/demo.js');
      const demo = new Demo({ folder: resolve(io.folder, folder), once, speed, seed, reset });
      try {
        output.note('Starting Postgres, two replicas and twelve agents …');
        output.note(welcome(await demo.start(), io.env));
        let failed = false;
        await output.stream(
          SCENES,
          tapped(demo.play(io.signal), ({ result }) => (failed ||= result === 'failed')),
        );
        output.note(`${demo.types.length} types of events: ${demo.types.join(', ')}`);
        return failed ? EXIT.failed : EXIT.done;
      } finally {
        output.note('Stopping …');
        await demo.stop();
      }
    },
  }),
  command({
    name: 'console',
    about: 'Print the address of the web console, with a link that signs you in once.',
    example: 'rollcall console',
    permission: 'self:read',
    run: async ({ client, connection, io, output }) => {
      const { link, expiresAt } = await consoleLink(await client(), connection.url, io.signal);
      output.note('Open this link in a browser within a minute. It signs in once.');
      await output.done(link, { name: () => link }, { url: link, expiresAt });
    },
  }),
];
