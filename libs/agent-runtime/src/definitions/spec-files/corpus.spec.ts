import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DefinitionContent } from '../definition.js';
import type { SpecOptions } from './spec.js';
import { loadFromFile, type SpecReport } from './spec.loader.js';
import { parseMarkdownSpec } from './spec.parser.js';

const CORPUS = join(import.meta.dirname, '../../../../../test/fixtures/specs');
const OPTIONS: SpecOptions = {
  knownTools: ['http_fetch', 'calculator', 'spawn_subagent'],
  knownModels: ['fast', 'smart'],
  knownSkills: ['review-rules'],
};

/** A line, and a part of the message. */
type Problem = readonly [line: number, message: string];

interface Expected {
  /** The name of the loaded spec and the content without description, instructions and provider. */
  readonly loaded?: Readonly<Record<string, Partial<DefinitionContent>>>;
  readonly warned?: readonly Problem[];
  readonly rejected?: readonly Problem[];
  readonly skipped?: true;
}

const NO_YAML = 'is not valid YAML, so it is used as plain text';
const DROPPED = 'do not exist, so they are dropped from';
const NOT_JSON = 'not valid JSON from this line on';

const TABLE: Readonly<Record<string, Expected>> = {
  'plain.md': { loaded: { plain: {} } },
  'all-keys.md': {
    loaded: {
      'all-keys': {
        tools: ['http_fetch', 'mcp__github'],
        disallowedTools: ['mcp__github__delete'],
        model: 'fast',
        skills: [{ name: 'review-rules', mode: 'preload' }],
        maxIterations: 12,
        capabilities: ['review', 'build'],
        maxDelegationDepth: 2,
        maxConcurrency: 4,
        whenBusy: 'reject',
        budget: { tokens: 1000, microUsd: null },
        inheritTools: 'off',
        mayAsk: true,
        outputSchema: { type: 'object' },
        metadata: { color: 'blue', effort: 'high', team: 'core' },
      },
    },
  },
  'tools-comma.md': { loaded: { 'tools-comma': { tools: ['http_fetch', 'calculator'] } } },
  'tools-list.md': { loaded: { 'tools-list': { tools: ['http_fetch', 'calculator'] } } },
  'tools-absent.md': { loaded: { 'tools-absent': {} } },
  'tools-empty-list.md': { loaded: { 'tools-empty-list': { tools: [] } } },
  'tools-no-value.md': { loaded: { 'tools-no-value': {} }, warned: [[4, 'inherits all tools']] },
  'tools-star.md': { loaded: { 'tools-star': {} } },
  'tools-star-unquoted.md': { loaded: { 'tools-star-unquoted': {} }, warned: [[4, NO_YAML]] },
  'tools-unknown.md': {
    loaded: { 'tools-unknown': { tools: ['http_fetch'] } },
    warned: [[4, `${DROPPED} tools: Read, Grep, Bash.`]],
  },
  'tools-all-unknown.md': { loaded: { 'tools-all-unknown': { tools: [] } }, warned: [[4, DROPPED]] },
  'tools-typing-error.md': {
    loaded: { 'tools-typing-error': { tools: [] } },
    warned: [[4, 'http_fetsh (did you mean http_fetch?)']],
  },
  'tools-pattern.md': {
    loaded: { 'tools-pattern': { tools: ['calculator'] } },
    warned: [[4, 'Patterns are not supported']],
  },
  'tools-agent-list.md': {
    loaded: {
      'tools-agent-list': { tools: ['calculator', 'spawn_subagent'], subagents: ['worker', 'researcher'] },
    },
  },
  'tools-task-list.md': {
    loaded: { 'tools-task-list': { tools: ['calculator', 'spawn_subagent'], subagents: ['worker'] } },
  },
  'tools-agent.md': { loaded: { 'tools-agent': { tools: ['calculator', 'spawn_subagent'] } } },
  'tools-mcp.md': { loaded: { 'tools-mcp': { tools: ['mcp__github', 'mcp__files__*', 'mcp__db__query'] } } },
  'tools-all-servers.md': {
    loaded: { 'tools-all-servers': { tools: ['calculator'] } },
    warned: [[4, DROPPED]],
  },
  'tools-number.md': { rejected: [[4, 'tools must be a list']] },
  'lists-twice.md': {
    loaded: {
      'lists-twice': {
        tools: ['http_fetch', 'calculator'],
        disallowedTools: ['mcp__db'],
        skills: [{ name: 'review-rules', mode: 'preload' }],
        subagents: ['tester'],
      },
    },
    warned: [
      [7, 'subagents contains the same element twice: tester.'],
      [4, 'tools contains the same element twice: http_fetch.'],
      [5, 'disallowedTools contains the same element twice: mcp__db.'],
      [6, 'skills contains the same element twice: review-rules.'],
    ],
  },
  'disallowed-pattern.md': {
    loaded: { 'disallowed-pattern': { disallowedTools: ['http_fetch', 'mcp__*'] } },
    warned: [[4, `${DROPPED} disallowedTools: Bash.`]],
  },
  'disallowed-agent.md': {
    loaded: { 'disallowed-agent': { disallowedTools: ['spawn_subagent'], subagents: [] } },
  },
  'disallowed-broken.md': {
    rejected: [
      [4, NO_YAML],
      [4, 'disallowedTools cannot be read'],
    ],
  },
  'disallowed-alias.md': { rejected: [[4, 'The YAML alias *tools is not supported']] },
  'disallowed-star-text.md': {
    rejected: [
      [4, NO_YAML],
      [4, 'disallowedTools cannot be read'],
    ],
  },
  'model-sonnet.md': { loaded: { 'model-sonnet': { model: 'sonnet' } } },
  'model-opus.md': { loaded: { 'model-opus': { model: 'opus' } } },
  'model-haiku.md': { loaded: { 'model-haiku': { model: 'haiku' } } },
  'model-inherit.md': { loaded: { 'model-inherit': { model: 'inherit' } } },
  'model-unknown.md': {
    loaded: { 'model-unknown': {} },
    warned: [[4, 'The model claude-9 does not exist, so the default preset is used.']],
  },
  'model-inline.md': { loaded: { 'model-inline': { model: { preset: 'fast', settings: { temperature: 0 } } } } },
  'model-inline-url.md': { rejected: [[4, 'model must be a name']] },
  'skills-unknown.md': {
    loaded: { 'skills-unknown': { skills: [{ name: 'review-rules', mode: 'preload' }] } },
    warned: [[4, 'review-rulez does not exist (did you mean review-rules?)']],
  },
  'max-turns-text.md': { loaded: { 'max-turns-text': { maxIterations: 7 } } },
  'max-turns-wrong.md': { rejected: [[4, 'maxTurns must be a positive whole number']] },
  'budget-wrong.md': { rejected: [[4, 'budget is not valid']] },
  'metadata.md': {
    loaded: { metadata: { metadata: { color: 'red', permissionMode: 'plan', mcpServers: ['github', 'db'] } } },
    warned: [
      [5, 'permissionMode is kept as metadata, but has no effect'],
      [6, 'mcpServers is kept as metadata, but has no effect'],
    ],
  },
  'key-unknown.md': { loaded: { 'key-unknown': {} }, warned: [[4, 'did you mean disallowedTools?']] },
  'key-unknown-unquoted.md': {
    loaded: { 'key-unknown-unquoted': {} },
    warned: [
      [2, 'The key disallowedTool is unknown (did you mean disallowedTools?), so it is ignored.'],
      [3, 'The key note is unknown'],
      [5, 'The key owner is unknown'],
    ],
  },
  'key-in-text.md': {
    loaded: { 'key-in-text': { model: 'fast' } },
    warned: [
      [3, `${NO_YAML} up to line 5.`],
      [
        5,
        'disalowedTools is unknown (did you mean disallowedTools?), so the line is a part of the text of description.',
      ],
    ],
  },
  'text-before-keys.md': {
    loaded: { 'text-before-keys': {} },
    warned: [[3, 'The text before the first key is ignored.']],
  },
  'stars-in-text.md': { loaded: { 'stars-in-text': {} }, warned: [[3, NO_YAML]] },
  'unquoted-colon.md': { loaded: { 'unquoted-colon': { model: 'fast' } }, warned: [[3, NO_YAML]] },
  'unquoted-lines.md': { loaded: { 'unquoted-lines': { model: 'fast' } }, warned: [[3, NO_YAML]] },
  'block-text.md': { loaded: { 'block-text': {} } },
  'key-twice.md': { loaded: { 'key-twice': {} }, warned: [[4, 'The key description occurs twice']] },
  'byte-order-mark.md': { loaded: { 'byte-order-mark': {} } },
  'crlf.md': { loaded: { crlf: { tools: ['calculator'] } } },
  'no-final-newline.md': { loaded: { 'no-final-newline': {} } },
  'no-body.md': { loaded: { 'no-body': {} }, warned: [[2, 'no system prompt']] },
  'no-body-no-newline.md': { loaded: { 'no-body-no-newline': {} }, warned: [[2, 'no system prompt']] },
  'rule-in-body.md': { loaded: { 'rule-in-body': {} } },
  'README.md': { skipped: true },
  'empty.md': { skipped: true },
  'no-end.md': { rejected: [[1, 'The front matter has no end']] },
  'no-name.md': { rejected: [[1, 'The spec has no name']] },
  'no-description.md': { rejected: [[1, 'The spec has no description']] },
  'description-blank.md': { rejected: [[3, 'The spec has no description']] },
  'description-number.md': { rejected: [[3, 'The description must be a text. Put it in quotes.']] },
  'name-with-spaces.md': { rejected: [[2, 'for example code-reviewer.']] },
  'name-number.md': { rejected: [[2, 'The name must be a text. Put it in quotes.']] },
  'name-path.md': { rejected: [[2, 'The name ../../etc/passwd is not valid']] },
  'agent-type.md': { loaded: { 'agent-type': {} }, warned: [[2, 'agent_type is deprecated. Use name.']] },
  'agent-type.json': { loaded: { 'agent-type-json': {} }, warned: [[2, 'agent_type is deprecated. Use name.']] },
  'agent-type-and-name.md': { loaded: { 'agent-type-and-name': {} }, warned: [[3, 'deprecated and ignored']] },
  'several-errors.md': {
    rejected: [
      [2, 'for example not-valid'],
      [1, 'no description'],
      [3, 'tools must be a list'],
      [4, 'maxTurns must be'],
    ],
  },
  'yaml-bomb.md': { rejected: [[2, 'The YAML anchor &a is not supported']] },
  'yaml-bomb-in-key.md': { rejected: [[5, 'The YAML anchor &a is not supported']] },
  'yaml-alias.md': { rejected: [[2, 'The YAML anchor &a is not supported']] },
  'yaml-anchor.md': { rejected: [[3, 'put a text that begins with & in quotes']] },
  'yaml-deep.md': { rejected: [[4, 'more than 32 levels']] },
  'yaml-infinity.md': { rejected: [[4, 'a number that is not finite']] },
  'yaml-prototype.md': {
    loaded: { 'yaml-prototype': {} },
    warned: [
      [4, 'The key __proto__ is unknown'],
      [5, 'The key constructor is unknown'],
    ],
  },
  'nul-escape.md': { rejected: [[3, 'a NUL character']] },
  'not-text.md': { rejected: [[1, 'The file is not a text']] },
  'one.json': { loaded: { one: { tools: ['calculator'], maxIterations: 3 } } },
  'map.json': { loaded: { 'map-a': { model: 'sonnet' }, 'map-b': { tools: [] } } },
  'map-one-wrong.json': {
    loaded: { 'map-good': {} },
    rejected: [
      [3, 'map-bad: The spec has no description'],
      [5, 'map-bad: maxTurns must be'],
      [7, 'map-text: The value must be a spec'],
    ],
  },
  'map-name-twice.json': { rejected: [[3, 'map-twice: The name occurs twice in this file']] },
  'syntax-error.json': { rejected: [[4, NOT_JSON]] },
  'unfinished.json': { rejected: [[3, NOT_JSON]] },
  'comment.json': { rejected: [[2, NOT_JSON]] },
  'crlf-error.json': { rejected: [[3, NOT_JSON]] },
  'list.json': { rejected: [[1, 'one spec, or a map of names to specs']] },
  'empty-map.json': { rejected: [[1, 'one spec, or a map of names to specs']] },
  'byte-order-mark.json': { loaded: { 'byte-order-mark-json': {} } },
  'two-prompts.json': { loaded: { 'two-prompts': {} }, warned: [[5, 'systemPrompt is ignored']] },
  'surrogate.json': { rejected: [[3, 'half of a Unicode surrogate pair']] },
  'prototype.json': { rejected: [[2, 'The name __proto__ is not valid']] },
};

const load = async (file: string, options = OPTIONS): Promise<SpecReport> =>
  await loadFromFile(join(CORPUS, file), options);

function namedContents({ loaded }: SpecReport): Record<string, Partial<DefinitionContent>> {
  const contents = loaded.map(({ name, content }) => {
    const { description: _description, instructions: _instructions, provider: _provider, ...rest } = content;
    return [name, rest] as const;
  });
  return Object.fromEntries(contents);
}

const problemsOf = (file: string, problems: readonly Problem[] = []): unknown[] =>
  problems.map(([line, message]) => ({ file, line, message: expect.stringContaining(message) as string }));

describe('S4.3 the corpus of spec files', () => {
  it('has an expectation for each file', () => {
    const entries = readdirSync(CORPUS, { withFileTypes: true }).filter((entry) => entry.isFile());
    expect(entries.map(({ name }) => name).toSorted()).toEqual(Object.keys(TABLE).toSorted());
  });

  it.each(Object.entries(TABLE))('has the expected result: %s', async (file, expected) => {
    const report = await load(file);
    expect(namedContents(report)).toEqual(expected.loaded ?? {});
    expect(report.warned).toEqual(problemsOf(file, expected.warned));
    expect(report.rejected).toEqual(problemsOf(file, expected.rejected));
    expect(report.skipped).toHaveLength(expected.skipped ? 1 : 0);
  });

  const warned = Object.entries(TABLE).filter(([, expected]) => expected.warned);
  it.each(warned)('S4.2 in strict mode, each warning rejects the file: %s', async (file, expected) => {
    const report = await load(file, { ...OPTIONS, strict: true });
    expect(report).toMatchObject({ loaded: [], warned: [], rejected: problemsOf(file, expected.warned) });
  });

  it.each([
    ['unquoted-colon.md', 'Use it when: the build fails', 'You review code.'],
    ['block-text.md', 'Two lines of text.', 'You review code.'],
    ['key-twice.md', 'Two.', 'You review code.'],
    ['crlf.md', 'Lines of Windows.', 'One.\nTwo.'],
    ['rule-in-body.md', 'A line in the text.', 'One.\n\n---\n\nTwo.'],
    ['no-body.md', 'No system prompt.', ''],
    ['two-prompts.json', 'Two prompts.', 'First.'],
    [
      'unquoted-lines.md',
      'Use this agent for releases. Examples:\n<example>\nContext: a release is due\nuser: "Release it"\n' +
        'assistant: "I use the release agent"\n</example>',
      'You review code.',
    ],
  ])('keeps the texts of %s', async (file, description, instructions) => {
    const { loaded } = await load(file);
    expect(loaded[0]?.content).toMatchObject({ description, instructions, provider: 'native' });
  });

  it('S4.9 a spec with agent_type has the same name and content as a spec with name', () => {
    const text = readFileSync(join(CORPUS, 'agent-type.md'), 'utf8');
    const [withType] = parseMarkdownSpec(text, OPTIONS).specs;
    const [withName] = parseMarkdownSpec(text.replace('agent_type:', 'name:'), OPTIONS).specs;
    expect(withType?.content).toMatchObject({ description: 'The old key.' });
    expect([withType?.name, withType?.content]).toEqual([withName?.name, withName?.content]);
  });

  it('never stores the settings of an MCP server, which can contain secrets', async () => {
    expect(JSON.stringify(await load('metadata.md'))).not.toContain('secret');
  });

  it('keeps an alias of Claude Code that the operator has defined', async () => {
    const report = await load('model-sonnet.md', { ...OPTIONS, knownModels: ['fast', 'sonnet'] });
    expect(namedContents(report)).toEqual({ 'model-sonnet': { model: 'sonnet' } });
  });

  it('checks no names if the known names are not given', async () => {
    const reports = await Promise.all(
      ['tools-unknown.md', 'model-unknown.md'].map(async (file) => await load(file, {})),
    );
    expect(reports.map(namedContents)).toEqual([
      { 'tools-unknown': { tools: ['Read', 'Grep', 'Bash', 'http_fetch'] } },
      { 'model-unknown': { model: 'claude-9' } },
    ]);
  });
});
