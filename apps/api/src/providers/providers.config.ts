import { z } from 'zod';
import { EnvName } from '#rollcall/providers';
import { json, setting } from '../config/setting.js';

const Origin = z.url({ protocol: /^https?$/ }).refine((text) => new URL(text).origin === text);

const ProgramsSchema = z.record(
  z.string().regex(/^[\w.-]{1,100}$/),
  z.strictObject({
    command: z.string().min(1),
    args: z.array(z.string()).optional(),
    cwd: z.string().optional(),
    env: z.record(z.string(), z.string()).optional(),
    secretEnv: z.array(EnvName).optional(),
  }),
);
const CredentialsSchema = z.record(EnvName, z.union([Origin.transform((origin) => [origin]), z.array(Origin)]));
const ClaudeSchema = z.strictObject({
  tools: z.array(z.string().min(1)).optional(),
  folder: z.string().optional(),
  env: z.record(z.string(), z.string()).optional(),
});

/** What agents may use on this machine. By default they may use nothing. */
export const providers = z.strictObject({
  programs: setting(json().pipe(ProgramsSchema).default({}), {
    env: 'ROLLCALL_PROGRAMS',
    about:
      'Programs that `subprocess` agents may run, by name (see providers.md). In the environment: one line of JSON.',
    expects: 'programs by name, such as {"coder": {"command": "/usr/bin/coder"}}',
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
      'Tools that `claude-sdk` agents may use, their working folder, and additional variables of their environment.',
    expects: 'tools, folder and env, such as {"tools": ["Read"], "folder": "/srv/work"}',
    defaultText: 'no tools',
  }),
});
