import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { configurationTable, envExample } from '../../apps/api/src/config/config.docs.js';
import { ConfigSchema } from '../../apps/api/src/config/config.schema.js';
import { eventTable } from '../../apps/api/src/events/events.docs.js';
import { problemTable } from '../../apps/api/src/http/problem.docs.js';
import { listSettings } from '../../apps/api/src/config/setting.js';

const read = (path: string): string => readFileSync(resolve(import.meta.dirname, '../..', path), 'utf8');

/** Formatting of tables is the formatter's business. */
const words = (text: string): string => text.replaceAll(/[ -]+/g, ' ').replaceAll(/ *\| */g, '|');

describe('the documentation of errors', () => {
  it('has every code with its status (else: npm run docs)', () => {
    const page = words(read('docs/errors.md'));
    for (const row of problemTable().split('\n')) expect(page).toContain(words(row));
  });
});

describe('the documentation of events', () => {
  it('has every type with an example (else: npm run docs)', () => {
    const page = words(read('docs/events.md'));
    for (const row of eventTable().split('\n')) expect(page).toContain(words(row));
  });
});

describe('the documentation of the configuration', () => {
  it('has every setting as the schema says it (else: npm run docs)', () => {
    const page = words(read('docs/configuration.md'));
    for (const row of configurationTable().split('\n')) expect(page).toContain(words(row));
  });

  it('has no setting that the schema does not know', () => {
    const known = new Set(listSettings(ConfigSchema).map(({ env }) => env));
    const table =
      read('docs/configuration.md').split('<!-- settings:begin -->')[1]?.split('<!-- settings:end -->')[0] ?? '';
    const documented = [...table.matchAll(/^\| `[\w.]+` +\| `(\w+)`/gm)].map(([, name]) => name);
    expect(new Set(documented)).toEqual(known);
  });

  it('is the same in .env.example', () => {
    expect(read('.env.example')).toBe(envExample());
  });

  it('would not pass with a setting missing', () => {
    const [, , ...rows] = configurationTable().split('\n');
    const page = words(read('docs/configuration.md')).replace(words(rows[0] ?? ''), '');
    expect(page).not.toContain(words(rows[0] ?? ''));
    expect(rows.length).toBe(listSettings(ConfigSchema).length);
  });
});
