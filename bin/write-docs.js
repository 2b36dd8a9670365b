/** Writes the generated tables in docs/, .env.example and the generated part of libs/client. Tests check that they match the code. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { clientSources } from './client-sources.js';
import { configurationTable, envExample } from '../dist/apps/api/src/config/config.docs.js';
import { eventTable } from '../dist/apps/api/src/events/events.docs.js';
import { openApiDocument } from '../dist/apps/api/src/openapi.js';
import { problemTable } from '../dist/apps/api/src/http/problems/problem.docs.js';
import { commandReference, exitCodeTable, globalOptionTable } from '../dist/apps/cli/src/cli.docs.js';

function fill(page, mark, table) {
  const file = new URL(`../docs/${page}`, import.meta.url);
  const between = new RegExp(`(<!-- ${mark}:begin -->\\n)[\\s\\S]*?(<!-- ${mark}:end -->)`);
  writeFileSync(
    file,
    readFileSync(file, 'utf8').replace(between, (_, begin, end) => `${begin}\n${table}\n\n${end}`),
  );
}

const LANGUAGES = { js: 'js', mjs: 'js', ts: 'ts', md: 'markdown', json: 'json' };

/** Copies a file of examples/ into a page. The replacement is a function because `$` is special in a replacement text. */
function quote(page, name) {
  const file = new URL(`../docs/${page}`, import.meta.url);
  const code = readFileSync(new URL(`../examples/${name}`, import.meta.url), 'utf8');
  const between = new RegExp(`<!-- examples/${name}:begin -->[\\s\\S]*?<!-- examples/${name}:end -->`);
  const language = LANGUAGES[name.split('.').at(-1)];
  const block = `<!-- examples/${name}:begin -->\n\n\`\`\`${language}\n${code}\`\`\`\n\n<!-- examples/${name}:end -->`;
  writeFileSync(
    file,
    readFileSync(file, 'utf8').replace(between, () => block),
  );
}

quote('agents.md', 'agent.js');
quote('events.md', 'consumer.js');
quote('plugins.md', 'weather.mjs');
quote('plugins.md', 'plugin/index.test.ts');
for (const page of readdirSync(new URL('../docs/how-to/plugin', import.meta.url)))
  quote(`how-to/plugin/${page}`, page === 'embedding.md' ? 'embedded/main.ts' : `plugin/${page.replace('.md', '.ts')}`);
quote('tutorial.md', 'first-agent.js');
quote('webhooks.md', 'receiver.js');
quote('contract-net.md', 'contract-net/builders.ts');
for (const name of readdirSync(new URL('../examples/agents', import.meta.url), { recursive: true, encoding: 'utf8' }))
  if (/\.\w+$/.test(name)) quote('definitions.md', `agents/${name}`);
fill('configuration.md', 'settings', configurationTable());
fill('errors.md', 'errors', problemTable());
fill('events.md', 'events', eventTable());
fill('cli.md', 'cli-exit-codes', exitCodeTable());
fill('cli.md', 'cli-options', globalOptionTable());
fill('cli.md', 'cli-commands', commandReference());
writeFileSync(new URL('../.env.example', import.meta.url), envExample());
const sources = await clientSources(await openApiDocument());
for (const [name, text] of Object.entries(sources))
  writeFileSync(new URL(`../libs/client/src/generated/${name}`, import.meta.url), text);
