import { readFileSync } from 'node:fs';
import type { SpecOptions } from './spec.js';
import { parseJsonSpecs, parseMarkdownSpec } from './spec.parser.js';

const PAGE = readFileSync('docs/definitions-files.md', 'utf8');
const OPTIONS: SpecOptions = {
  strict: true,
  knownTools: ['http_fetch', 'spawn_subagent'],
  knownModels: [],
  knownSkills: ['review-rules'],
};

function example(language: string): string {
  const code = PAGE.split(`\`\`\`${language}\n`)[1]?.split('```')[0];
  if (code === undefined) throw new Error(`The page has no example in ${language}.`);
  return code;
}

describe('S4.9 docs/definitions-files.md', () => {
  it('has a Markdown example that loads in strict mode', () => {
    const { specs, errors } = parseMarkdownSpec(example('markdown'), OPTIONS);
    expect(errors).toEqual([]);
    expect(specs).toMatchObject([
      {
        name: 'reviewer',
        content: {
          instructions: 'You review code. Report each problem with its file and line.',
          tools: ['http_fetch', 'spawn_subagent'],
          subagents: ['researcher'],
          model: 'inherit',
          maxIterations: 20,
        },
      },
    ]);
  });

  it('has a JSON example that loads in strict mode', () => {
    const { specs, errors } = parseJsonSpecs(example('json'), OPTIONS);
    expect([errors, specs.map(({ name }) => name)]).toEqual([[], ['reviewer', 'writer']]);
  });
});
