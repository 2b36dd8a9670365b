import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { configurationTable, envExample } from '../../apps/api/src/config/config.docs.js';
import { loadConfig } from '../../apps/api/src/config/config.loader.js';
import { ConfigSchema } from '../../apps/api/src/config/config.schema.js';
import { eventTable } from '../../apps/api/src/events/events.docs.js';
import { problemTable } from '../../apps/api/src/http/problems/problem.docs.js';
import { listSettings } from '../../apps/api/src/config/setting.js';

const read = (path: string): string => readFileSync(resolve(import.meta.dirname, '../..', path), 'utf8');

/** The text without the formatting of tables, which the formatter changes. */
const unformatted = (text: string): string => text.replaceAll(/[ -]+/g, ' ').replaceAll(/ *\| */g, '|');

/** The rows of a table that a page does not contain. */
const missing = (table: string, page: string): string[] =>
  table.split('\n').filter((row) => !unformatted(page).includes(unformatted(row)));

describe('the documentation of errors', () => {
  it('docs/errors.md has every code with its status (update: npm run docs)', () => {
    expect(missing(problemTable(), read('docs/errors.md'))).toEqual([]);
  });
});

describe('the documented programs', () => {
  it.each<readonly [page: string, program: string]>([
    ['agents.md', 'agent.js'],
    ['events.md', 'consumer.js'],
    ['plugins.md', 'weather.mjs'],
    ['plugins.md', 'plugin/index.test.ts'],
    ['how-to/plugin/embedding.md', 'embedded/main.ts'],
    ...globSync('examples/plugin/*.ts')
      .map((file) => file.slice('examples/plugin/'.length, -'.ts'.length))
      .filter((name) => !name.startsWith('index'))
      .map((name): [string, string] => [`how-to/plugin/${name}.md`, `plugin/${name}.ts`]),
    ['tutorial.md', 'first-agent.js'],
    ['webhooks.md', 'receiver.js'],
    ['contract-net.md', 'contract-net/builders.ts'],
  ])('D2 %s quotes examples/%s exactly (update: npm run docs)', (page, program) => {
    const language = program.endsWith('.ts') ? 'ts' : 'js';
    expect(read(`docs/${page}`)).toContain(`\`\`\`${language}\n${read(`examples/${program}`)}\`\`\``);
  });

  it('D2 the pages about parts of plugins have less than 40 lines', () => {
    const pages = globSync('docs/how-to/plugin/*.md');
    expect(pages.length).toBe(10);
    expect(pages.filter((page) => read(page).trimEnd().split('\n').length >= 40)).toEqual([]);
  });

  it('D2 S4.9 definitions.md quotes the definitions in examples/agents exactly (update: npm run docs)', () => {
    // coding-tour.md imports the coding agents as files
    const files = globSync('examples/agents/**/*.*', { exclude: ['examples/agents/coding/**'] });
    expect(files.length).toBeGreaterThan(5);
    const page = read('docs/definitions.md');
    expect(files.filter((file) => !page.includes(`\n${read(file)}\`\`\``))).toEqual([]);
  });
});

describe('the commands of the documentation', () => {
  it('N12 all commands use ROLLCALL_URL for the address of the server, as the programs do', () => {
    const pages = globSync(['*.md', 'docs/**/*.md', 'examples/**/*.sh']).filter((page) => page !== 'CHANGELOG.md');
    expect(pages.filter((page) => /\$\{?API\b/.test(read(page)))).toEqual([]);
  });
});

describe('the links of the documentation', () => {
  /** The anchor that GitHub derives from a heading. */
  const anchorOf = (heading: string): string =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-');
  const anchorsOf = (page: string): string[] =>
    [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading));
  const isBroken = (page: string, link: string): boolean => {
    const [path = '', anchor] = link.split('#');
    const target = path ? join(dirname(page), path) : page;
    return !existsSync(target) || (anchor !== undefined && !anchorsOf(target).includes(anchor));
  };

  it('every relative link leads to a file and to one of its headings', () => {
    const pages = globSync(['*.md', 'docs/**/*.md']);
    const links = pages.flatMap((page) =>
      [
        ...read(page)
          .replaceAll(/```[^]*?```/g, '')
          .matchAll(/\]\(([^)\s]+)\)/g),
      ].map(([, link = '']) => [page, link]),
    );
    expect(links.length).toBeGreaterThan(100);
    expect(links.filter(([page, link]) => !link.startsWith('http') && isBroken(page, link))).toEqual([]);
  });
});

describe('the documentation of events', () => {
  it('docs/events.md has every type with an example (update: npm run docs)', () => {
    expect(missing(eventTable(), read('docs/events.md'))).toEqual([]);
  });
});

describe('the documentation of the configuration', () => {
  it('docs/configuration.md has every setting as the schema defines it (update: npm run docs)', () => {
    expect(missing(configurationTable(), read('docs/configuration.md'))).toEqual([]);
  });

  it('docs/configuration.md has no setting that the schema does not define', () => {
    const known = new Set(listSettings(ConfigSchema).map(({ env }) => env));
    const table =
      read('docs/configuration.md').split('<!-- settings:begin -->')[1]?.split('<!-- settings:end -->')[0] ?? '';
    const documented = [...table.matchAll(/^\| `[\w.]+` +\| `(\w+)`/gm)].map(([, name]) => name);
    expect(new Set(documented)).toEqual(known);
    expect(documented).toHaveLength(known.size); // each setting is in one section
  });

  it('.env.example has every setting as the schema defines it', () => {
    expect(read('.env.example')).toBe(envExample());
  });

  it('every value in .env.example is valid when it is uncommented (N7)', () => {
    const lines = read('.env.example').matchAll(/^#([A-Z_]+)=(.+)$/gm);
    const environment = Object.fromEntries([...lines].map(([, name = '', value]) => [name, value]));
    expect(Object.keys(environment).length).toBeGreaterThan(30);
    expect(() => loadConfig({ ...environment, ROLLCALL_CONFIG: '/dev/null' }, '/nowhere')).not.toThrow();
  });

  it('the check of docs/configuration.md finds a setting that is missing or differs', () => {
    const page = read('docs/configuration.md');
    const port = configurationTable()
      .split('\n')
      .filter((row) => row.includes('`PORT`'));
    expect(missing(configurationTable(), page.replace(/^\| `http\.port`.*$/m, ''))).toEqual(port);
    expect(missing(configurationTable(), page.replace('| `8080`', '| `9090`'))).toEqual(port);
  });
});
