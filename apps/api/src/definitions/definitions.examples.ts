import type { ApiParamOptions } from '@nestjs/swagger';

export const DEFINITION_NAME: ApiParamOptions = {
  name: 'name',
  description: 'The name of the definition.',
  example: 'reviewer',
};

const CONTENT = {
  description: 'Reviews changes of code. Use it before a merge.',
  instructions: 'You review code. List each problem with its line.',
  tools: ['clock', 'recall'],
  capabilities: ['code.review'],
  maxIterations: 10,
  budget: { tokens: 200_000, microUsd: null },
};

export const REGISTER_DEFINITION_EXAMPLES = {
  native: { summary: 'An agent that Rollcall runs', value: { name: 'reviewer', content: CONTENT } },
};

export const REPLACE_EXAMPLES = {
  native: { summary: 'More iterations', value: { content: { ...CONTENT, maxIterations: 20 } } },
};

export const PREVIEW_EXAMPLES = {
  native: { summary: 'A definition that is not registered', value: { name: 'draft', content: CONTENT } },
};

const SPEC_FILE = `---
name: release-writer
description: Writes release notes. Use it before a release.
tools: clock
---

You write release notes.
`;

export const IMPORT_EXAMPLES = {
  file: { summary: 'One spec file', value: { files: [{ path: 'release-writer.md', content: SPEC_FILE }] } },
};
