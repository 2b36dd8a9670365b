import { z } from 'zod';
import { json, setting } from './setting.js';

const Fields = z.record(z.string(), z.unknown());
const onOff = z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')]).default(false);

/** The folder in which Claude Code keeps agents. It is ignored if it does not exist. */
export const DEFAULT_AGENTS_FOLDER = '.claude/agents';

/** Validated by the runtime, which knows the tools, skills and models. */
export const agents = setting(json().pipe(Fields).default({}), {
  env: 'ROLLCALL_AGENTS',
  about:
    'Definitions of agents by name (see definitions.md). The environment adds agents and fields to those of the file. In the environment: one line of JSON.',
  expects: 'definitions by name, such as {"reviewer": {"description": "Reviews code.", "instructions": "Review."}}',
  defaultText: 'none',
  mergedLevels: 2,
});

export const agent = setting(json().pipe(Fields).optional(), {
  env: 'ROLLCALL_AGENT',
  about:
    'The definition of the default agent, for runs that name no agent. Its name is `default`, unless it has a `name`. In the environment: one line of JSON.',
  expects: 'a definition, such as {"description": "Answers.", "instructions": "Answer."}',
  defaultText: 'none',
  mergedLevels: 1,
});

export const agentFiles = z.strictObject({
  folder: setting(z.string().min(1).default(DEFAULT_AGENTS_FOLDER), {
    env: 'ROLLCALL_AGENTS_DIR',
    about: 'Folder with spec files of agents (see definitions-files.md), relative to the working directory.',
    expects: 'a path',
    defaultText: `${DEFAULT_AGENTS_FOLDER}, if it exists`,
  }),
  watch: setting(onOff, {
    env: 'ROLLCALL_AGENTS_WATCH',
    about: 'Whether the folder is loaded again when its files change.',
    expects: 'true or false',
  }),
  strict: setting(onOff, {
    env: 'ROLLCALL_AGENTS_STRICT',
    about: 'Whether a spec file with a warning is rejected.',
    expects: 'true or false',
  }),
});
