import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');

/** What evaluates a schema, a pattern or code that is only known at run time, and the files that may use it. */
const EVALUATORS: [what: string, found: RegExp, allowed: readonly string[]][] = [
  [
    'a JSON Schema',
    /from 'ajv|AjvJsonSchemaValidator|fromJSONSchema|from 're2js/,
    [
      'apps/api/src/mcp/mcp.servers.ts', // only the schemas of the tools of Rollcall itself
      'libs/agent-runtime/src/schemas/schema.thread.ts',
      'libs/agent-runtime/src/tools/workspace/workspace.search.ts', // patterns in linear time, in small portions
    ],
  ],
  [
    'a regular expression that is not a literal',
    /\bRegExp\(/,
    [
      'apps/api/src/events/events.dto.ts', // constants
      'apps/api/src/http/server/routes.ts', // the paths of controllers
      'apps/api/src/runs/run-stream.controller.ts', // constants
      'libs/agent-runtime/src/tools/input/dto.input.ts', // the decorators of a class
    ],
  ],
  ['code', /\beval\(|new Function\(|from 'node:vm'/, []],
];

const sources = globSync('{apps,libs}/*/src/**/*.ts', { cwd: ROOT })
  .filter((file) => !/\.spec\.ts$|\/testing\//.test(file))
  .map((file) => ({ file, text: readFileSync(resolve(ROOT, file), 'utf8') }));

describe('texts of users and third parties', () => {
  it.each(EVALUATORS)('S-2 %s is evaluated only in the listed files', (_what, found, allowed) => {
    expect(sources.length).toBeGreaterThan(300);
    const using = sources.filter(({ text }) => found.test(text)).map(({ file }) => file);
    expect(using.toSorted()).toEqual(allowed);
  });
});
