import { parseArgs } from 'node:util';
import { VERSION } from '../version.js';

/** The options of the command line, and the environment variable that each one sets. */
export const OPTIONS = {
  port: { variable: 'PORT', about: 'Port to listen on; 0 chooses any free port (default 8080).' },
  host: { variable: 'HOST', about: 'Address to listen on (default 127.0.0.1).' },
  'database-url': { variable: 'DATABASE_URL', about: 'URL of an external Postgres (default: an embedded Postgres).' },
  'data-dir': { variable: 'ROLLCALL_DATA_DIR', about: 'Folder of the embedded Postgres (default .rollcall).' },
  config: { variable: 'ROLLCALL_CONFIG', about: 'Configuration file (default rollcall.yaml).' },
  'log-format': { variable: 'LOG_FORMAT', about: 'auto, pretty or json (default auto).' },
} as const;

const HELP = `Rollcall ${VERSION}: registry, discovery and runtime for AI agents.

Usage: npm start -- [options]
       rollcall start [options]

Options:
${Object.entries(OPTIONS)
  .map(([name, { variable, about }]) => `  ${`--${name} <value>`.padEnd(24)}${about} Sets ${variable}.`)
  .join('\n')}
  ${'--version'.padEnd(24)}Prints the version.
  ${'--help'.padEnd(24)}Prints this text.

All other settings are environment variables, or lines of .env or rollcall.yaml: see docs/configuration.md.
`;

/** What the command line asks for: to print a text and exit, or to start with additional environment variables. */
export type Arguments = { print: string; exitCode: number } | { environment: Record<string, string> };

/** Reads the command line. An option takes precedence over the environment variable. */
export function readArguments(given: readonly string[]): Arguments {
  const text = { type: 'string' } as const;
  const options = Object.fromEntries(Object.keys(OPTIONS).map((name) => [name, text]));
  try {
    const flags = { help: { type: 'boolean', short: 'h' }, version: { type: 'boolean' } } as const;
    const { values } = parseArgs({ args: [...given], options: { ...options, ...flags } });
    const { help, version, ...settings } = values;
    if (help === true) return { print: HELP, exitCode: 0 };
    if (version === true) return { print: `${VERSION}\n`, exitCode: 0 };
    return { environment: toEnvironment(settings) };
  } catch (error) {
    return { print: `${(error as Error).message}\n\n${HELP}`, exitCode: 2 };
  }
}

function toEnvironment(settings: Record<string, unknown>): Record<string, string> {
  const variableOf = (name: string): string => OPTIONS[name as keyof typeof OPTIONS].variable;
  return Object.fromEntries(Object.entries(settings).map(([name, value]) => [variableOf(name), String(value)]));
}
