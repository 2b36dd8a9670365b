import type { Logger as Pino } from 'pino';
import type { Config } from '../config/config.schema.js';
import { isPretty } from '../telemetry/logger.js';
import { VERSION } from '../version.js';
import type { Running } from './start.js';

/** Logs the start. In the pretty format, it prints the next steps instead, and a new admin key. The key is never logged. */
export function announce(running: Running, { log }: Config, pino: Pino): void {
  const { url, embedded, adminKey } = running;
  if (isPretty(log.format)) return void process.stdout.write(announcement(running));
  pino.info({ event: 'process.started', url, docs: `${url}/docs`, embedded, adminKeyFile: adminKey.file }, 'ready');
}

export function announcement({ url, embedded, adminKey }: Running): string {
  const lines = [
    '',
    `  Rollcall ${VERSION} is ready.`,
    '',
    `  API    ${url}`,
    `  Docs   ${url}/docs`,
    `  Data   ${embedded ? 'embedded Postgres, for this process only' : 'Postgres at DATABASE_URL'}`,
    ...keyLines(adminKey),
    '',
    '  Try it:',
    `  curl -s -H "Authorization: Bearer ${adminKey.shell}" '${url}/v1/me'`,
    '',
    '',
  ];
  return lines.join('\n');
}

function keyLines({ created, file, shell }: Running['adminKey']): string[] {
  const advice = shell.startsWith('<')
    ? ['  Key    not stored here; if you lost it, start with ROLLCALL_ADMIN_KEY set to a new key']
    : [];
  const lines = file ? [`  Key    ${file}`] : advice;
  return created ? [...lines, `         ${created}  (shown only once)`] : lines;
}
