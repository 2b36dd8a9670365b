/** Brings the tables in docs/ and .env.example in line with the code. A test compares them. */
import { readFileSync, writeFileSync } from 'node:fs';
import { configurationTable, envExample } from '../dist/apps/api/src/config/config.docs.js';
import { eventTable } from '../dist/apps/api/src/events/events.docs.js';
import { problemTable } from '../dist/apps/api/src/http/problem.docs.js';

function fill(page, mark, table) {
  const file = new URL(`../docs/${page}`, import.meta.url);
  const between = new RegExp(`(<!-- ${mark}:begin -->\\n)[\\s\\S]*?(\\n<!-- ${mark}:end -->)`);
  writeFileSync(file, readFileSync(file, 'utf8').replace(between, `$1\n${table}\n$2`));
}

fill('configuration.md', 'settings', configurationTable());
fill('errors.md', 'errors', problemTable());
fill('events.md', 'events', eventTable());
writeFileSync(new URL('../.env.example', import.meta.url), envExample());
