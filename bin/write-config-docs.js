/** Brings docs/configuration.md and .env.example in line with the schema. A test compares them. */
import { readFileSync, writeFileSync } from 'node:fs';
import { configurationTable, envExample } from '../dist/apps/api/src/config/config.docs.js';

const PAGE = new URL('../docs/configuration.md', import.meta.url);
const MARKED = /(<!-- settings:begin -->\n)[\s\S]*?(\n<!-- settings:end -->)/;

writeFileSync(PAGE, readFileSync(PAGE, 'utf8').replace(MARKED, `$1\n${configurationTable()}\n$2`));
writeFileSync(new URL('../.env.example', import.meta.url), envExample());
