import { z } from 'zod';
import { closestName, HTTP_FETCH_MODES, INHERITANCE_MODES } from '#rollcall/agent-runtime';
import {
  EnvName,
  McpServersSchema,
  modelFieldsAt,
  type ModelsConfig,
  ModelsConfigSchema,
  NamespacesSchema,
} from '#rollcall/providers';
import type { PluginUse } from '../plugins/plugin.reader.js';
import { readPriceList } from './model.prices.js';
import {
  duration,
  DURATION_FORMAT,
  EXPLAINED,
  integer,
  json,
  list,
  networks,
  NETWORKS_FORMAT,
  setting,
} from './setting.js';

/** This model needs neither a key nor a network, so Rollcall works without configuration. Its prices make the cost of a run visible. */
const DEMO = { vendor: 'scripted', model: 'demo', usdPerMillionTokens: { input: 3, output: 15 } };
export const DEMO_MODELS: ModelsConfig = { default: 'demo', presets: { demo: DEMO } };

/** Validated but not parsed here: `PresetCatalog` parses the original value. */
export const models = setting(
  json()
    .superRefine(explainModels)
    .transform((value) => value as ModelsConfig)
    .default(DEMO_MODELS),
  {
    env: 'ROLLCALL_MODELS',
    about:
      'The models that agents can use: presets, aliases and vendors (see providers.md). In the environment: one line of JSON.',
    expects: 'presets with a default among them, as described in providers.md',
    defaultText: 'models of the keys in the environment, and one preset that needs no key',
  },
);

/** Names each wrong field, instead of the whole value (N-8). */
function explainModels(value: unknown, context: z.RefinementCtx): void {
  for (const issue of ModelsConfigSchema.safeParse(value).error?.issues ?? []) {
    const path = issue.path.map(String);
    const texts =
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => `${[...path, key].join('.')} is not a field${knownField(key, path)}`)
        : [`${path.length > 0 ? path.join('.') : 'the value'}: ${issue.message.replace('Invalid input: ', '')}`];
    for (const message of texts) context.addIssue({ code: 'custom', message, params: EXPLAINED });
  }
}

function knownField(key: string, path: readonly string[]): string {
  const known = modelFieldsAt(path);
  const closest = closestName(key, known);
  return closest === undefined ? `; known: ${known.join(', ')}` : `; did you mean ${closest}?`;
}

/** Read at the start, so that a wrong file is reported at once. */
export const modelPrices = setting(
  z
    .string()
    .default('')
    .transform((path, context) => {
      try {
        return readPriceList(path);
      } catch (error) {
        context.addIssue({ code: 'custom', message: (error as Error).message, params: EXPLAINED });
        return z.NEVER;
      }
    }),
  {
    env: 'ROLLCALL_MODEL_PRICES',
    about:
      'The file with the prices of models for presets and definitions that state none, in the format of deploy/model-prices.json (see models.md).',
    expects: 'the path of a price list',
    defaultText: 'the list of this version',
  },
);

const Fields = z.record(z.string(), z.unknown());

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

/** The folder in which Claude Code keeps agents. It is ignored if it does not exist. */
export const DEFAULT_AGENTS_FOLDER = '.claude/agents';

const onOff = z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')]).default(false);

const agentFiles = z.strictObject({
  folder: setting(z.string().min(1).default(DEFAULT_AGENTS_FOLDER), {
    env: 'ROLLCALL_AGENTS_DIR',
    about: 'Folder with spec files of agents (see definitions-files.md), relative to the working directory.',
    expects: 'a path',
    defaultText: `${DEFAULT_AGENTS_FOLDER}, if it exists`,
  }),
  watch: setting(onOff, {
    env: 'ROLLCALL_AGENTS_WATCH',
    about: 'Whether the folder, and the folders with skills, are loaded again when their files change.',
    expects: 'true or false',
  }),
  prefix: setting(z.enum(['none', 'folder']).default('none'), {
    env: 'ROLLCALL_AGENTS_PREFIX',
    about: 'With folder, the names of agents begin with the folder of their file: team:reviewer for team/reviewer.md.',
    expects: 'none or folder',
  }),
});

/** The folders in which other tools keep skills. A folder that does not exist is ignored. */
export const DEFAULT_SKILL_FOLDERS = ['.agents/skills', '.claude/skills'];

const skills = setting(list(DEFAULT_SKILL_FOLDERS), {
  env: 'ROLLCALL_SKILLS_DIR',
  about:
    'Folders with skills (see runtime/skills.md), relative to the working directory. If two skills have the same name, the skill of the first folder is used.',
  expects: 'paths separated by commas',
  defaultText: '.agents/skills,.claude/skills, if they exist',
});

const HOST = /^(\*\.)?[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i;

export interface HttpFetchSetting {
  mode: (typeof HTTP_FETCH_MODES)[number];
  /** If empty, all hosts that the egress rules allow. */
  hosts: string[];
}

/** Parses `off`, `read`, or `read:api.example.com,*.example.com`. A colon without hosts is an error, because all hosts would be allowed. */
function httpFetchOf(text: string, context: z.core.$RefinementCtx): HttpFetchSetting {
  const [name = '', names, ...rest] = text.split(':').map((part) => part.trim());
  const mode = HTTP_FETCH_MODES.find((known) => known === name);
  const hosts = names?.split(',').map((host) => host.trim()) ?? [];
  const isValid =
    rest.length === 0 && hosts.every((host) => HOST.test(host)) && (mode !== 'off' || names === undefined);
  if (mode !== undefined && isValid) return { mode, hosts };
  context.addIssue({ code: 'custom', message: 'not a mode with hosts' });
  return z.NEVER;
}

const Aliases = z.record(z.string().min(1).max(100), z.string().min(1).max(64));

/** Splits a command at blanks. A part with blanks is not possible: the operator writes a script for it. */
const command = z.union([
  z.array(z.string().min(1)),
  z.string().transform((text) => text.split(/\s+/).filter(Boolean)),
]);

const tools = z.strictObject({
  off: setting(list([]), {
    env: 'ROLLCALL_TOOLS_OFF',
    about: 'Toolboxes that no agent may use, such as `memory` (see `GET /v1/tools`).',
    expects: 'names of toolboxes separated by commas',
    defaultText: 'none',
  }),
  httpFetch: setting(z.string().default('off').transform(httpFetchOf), {
    env: 'ROLLCALL_TOOLS_HTTP_FETCH',
    about:
      'Whether agents may use the tool `http_fetch`: `read` allows GET and HEAD, `write` also POST. Hosts after a colon restrict it to these: `read:api.example.com,*.example.com`. Without hosts, it may call all public hosts and the networks of `egress.allow`. A model can send anything that it has read to the hosts that it may call.',
    expects: 'off, read or write, optionally with hosts as in read:api.example.com,*.example.com',
    defaultText: 'off',
  }),
  aliases: setting(json().pipe(Aliases).default({}), {
    env: 'ROLLCALL_TOOLS_ALIASES',
    about:
      'Further names of tools in definitions, by name, in addition to the names of Claude Code such as `Read` and `Bash` (see runtime/workspace.md). In the environment: one line of JSON.',
    expects: 'names of tools by alias, such as {"fetch": "http_fetch"}',
    defaultText: 'none',
  }),
  bash: setting(command.default([]), {
    env: 'ROLLCALL_TOOLS_BASH',
    about:
      'The sandbox in which the tool `bash` executes commands of models: a program with its arguments, separated by blanks, to which `bash -c <command>` is added. `{workspace}` is replaced by the folder of the workspace. Without a sandbox, the tool is off (see runtime/workspace.md).',
    expects:
      'a program with arguments, such as "bwrap --unshare-all … --bind {workspace} /workspace --chdir /workspace"',
    defaultText: 'off',
  }),
});

const mcpServers = setting(json().pipe(McpServersSchema).default({}), {
  env: 'ROLLCALL_MCP_SERVERS',
  about: 'MCP servers whose tools agents may use, by name (see runtime/mcp.md). In the environment: one line of JSON.',
  expects: 'servers by name, such as {"files": {"program": "files"}} or {"docs": {"url": "https://docs.example/mcp"}}',
  defaultText: 'none',
});

export const egress = z.strictObject({
  allow: setting(networks(), {
    env: 'ROLLCALL_EGRESS_ALLOW',
    about:
      'Networks that Rollcall may send requests to, in addition to the public Internet. Loopback addresses are also allowed with the embedded Postgres.',
    expects: NETWORKS_FORMAT,
  }),
});

const Origin = z.url({ protocol: /^https?$/ }).refine((text) => new URL(text).origin === text);

const ProgramUserSchema = z.union([
  z.string().regex(/^[a-z_][a-z0-9_.-]{0,31}$/i),
  z
    .int()
    .min(0)
    .max(2 ** 31),
]);

const ProgramsSchema = z.record(
  z.string().regex(/^[\w.-]{1,100}$/),
  z.strictObject({
    command: z.string().min(1),
    args: z.array(z.string()).optional(),
    cwd: z.string().optional(),
    user: ProgramUserSchema.optional(),
    env: z.record(z.string(), z.string()).optional(),
    secretEnv: z.array(EnvName).optional(),
    namespaces: NamespacesSchema,
  }),
);
const CredentialsSchema = z.record(EnvName, z.union([Origin.transform((origin) => [origin]), z.array(Origin)]));
const ClaudeSchema = z.strictObject({
  tools: z.array(z.string().min(1)).optional(),
  folder: z.string().optional(),
  user: ProgramUserSchema.optional(),
  env: z.record(z.string(), z.string()).optional(),
  namespaces: NamespacesSchema,
});

const PluginUses = z.array(
  z.union([
    z
      .string()
      .min(1)
      .transform((use): PluginUse => ({ use })),
    z.strictObject({ use: z.string().min(1), config: z.unknown().optional() }),
  ]),
);

/** A list in YAML or JSON, or names separated by commas. */
export const plugins = setting(
  z
    .union([
      z.string().transform((text, context): unknown => {
        if (!text.trimStart().startsWith('['))
          return text
            .split(',')
            .map((use) => use.trim())
            .filter(Boolean);
        const parsed = json().safeParse(text);
        if (parsed.success) return parsed.data;
        context.addIssue({ code: 'custom', message: 'not JSON' });
        return z.NEVER;
      }),
      z.array(z.unknown()),
    ])
    .default([])
    .pipe(PluginUses),
  {
    env: 'ROLLCALL_PLUGINS',
    about:
      'Plugins to load at the start (see plugins.md): files, relative to the working directory, and packages. In rollcall.yaml, an element with `use` and `config` gives a plugin its configuration. In the environment: names separated by commas, or one line of JSON. Plugins are code with the rights of the server.',
    expects: 'files and packages such as ./weather.js,@acme/tools, or a list of {"use": "./weather.js", "config": {…}}',
    defaultText: 'none',
  },
);

/** What agents may use on this machine. By default they may use nothing. */
export const providers = z.strictObject({
  programs: setting(json().pipe(ProgramsSchema).default({}), {
    env: 'ROLLCALL_PROGRAMS',
    about:
      'Programs that `subprocess` agents may run, by name (see providers.md). In the environment: one line of JSON.',
    expects: 'programs by name, such as {"coder": {"command": "/usr/bin/coder", "user": "nobody"}}',
    defaultText: 'none',
  }),
  credentials: setting(json().pipe(CredentialsSchema).default({}), {
    env: 'ROLLCALL_AGENT_CREDENTIALS',
    about: 'Environment variables whose values may be sent to remote agents, each with its allowed origins.',
    expects: 'origins by variable, such as {"MY_AGENT_KEY": "https://agents.example"}',
    defaultText: 'none',
  }),
  claude: setting(json().pipe(ClaudeSchema).default({}), {
    env: 'ROLLCALL_CLAUDE',
    about:
      'Tools that `claude-sdk` agents may use, and in which namespaces; their working folder, their user, and additional variables of their environment (see providers.md).',
    expects:
      'tools, folder, user, env and namespaces, such as {"tools": ["Read"], "folder": "/srv/work", "user": "nobody"}',
    defaultText: 'no tools',
  }),
});

const SECOND = 1_000;
const MAX_TIMEOUT = 24 * 86_400_000;
const TIMEOUT_FORMAT = 'a duration from 1s to 24d, such as 10m';

const timeout = (fallback: string) => duration(fallback).refine((ms) => ms >= SECOND && ms <= MAX_TIMEOUT);

const delegation = z.strictObject({
  inheritTools: setting(z.enum(INHERITANCE_MODES).default('union'), {
    env: 'ROLLCALL_RUNTIME_INHERIT_TOOLS',
    about:
      'Tools of a delegated agent: its own and those of its parent (`union`), only its own (`off`), or only those of its own that its parent may also use (`intersection`). A definition can choose a stricter mode.',
    expects: INHERITANCE_MODES.join(', '),
  }),
});

const runs = z.strictObject({
  max: setting(integer(0, 10_000, 64), {
    env: 'ROLLCALL_RUNS_MAX',
    about: 'How many runs this replica executes at a time. Further runs wait. With 0, it executes none.',
    expects: 'a number from 0 to 10000',
  }),
  keep: setting(duration('30d'), {
    env: 'ROLLCALL_RUNS_KEEP',
    about: 'How long finished runs and their steps are kept.',
    expects: DURATION_FORMAT,
    defaultText: '30d',
  }),
  redactAfter: setting(z.union([z.literal('off').transform(() => null), duration('')]).default(null), {
    env: 'ROLLCALL_RUNS_REDACT_AFTER',
    about:
      'How long after the end of a run its contents are removed: inputs, answers, texts of models, and arguments and results of tools. The run, its usage and the kinds of its steps stay. The setting also applies to runs that have already finished.',
    expects: `off, or ${DURATION_FORMAT}`,
    defaultText: 'off',
  }),
});

/** The agents that Rollcall runs itself. */
export const runtime = z.strictObject({
  tools: tools.prefault({}),
  workspaces: setting(z.string().min(1).optional(), {
    env: 'ROLLCALL_WORKSPACES',
    about:
      'Folder for the files of runs, relative to the working directory. Each run and the runs that it delegates share a workspace below it, and agents get the tools `read_file`, `write_file`, `edit_file`, `list_files`, `search_files` and `todo_write`. Several replicas need a shared volume. Without the setting, the tools are off (see runtime/workspace.md).',
    expects: 'a path',
    defaultText: 'off',
  }),
  skills,
  runTimeout: setting(timeout('10m'), {
    env: 'ROLLCALL_RUNTIME_RUN_TIMEOUT',
    about: 'Time limit of a run of an agent, including all agents that it delegates to.',
    expects: TIMEOUT_FORMAT,
    defaultText: '10m',
  }),
  delegation: delegation.prefault({}),
  agentFiles: agentFiles.prefault({}),
  runs: runs.prefault({}),
  mcpServers,
});
