import type { Logger as Pino } from 'pino';
import type { Config } from '../config/config.schema.js';
import { isForPeople } from '../telemetry/logger.js';
import { VERSION } from '../version.js';
import type { Running } from './start.js';

/** Shows people what to do next. A log collector gets one event, and never the key. */
export function announce(running: Running, { log }: Config, pino: Pino): void {
  const { url, embedded, adminKey } = running;
  pino.info({ event: 'process.started', url, docs: `${url}/docs`, embedded, adminKeyFile: adminKey.file }, 'ready');
  if (isForPeople(log.format)) process.stdout.write(announcement(running));
}

export function announcement({ url, embedded, adminKey }: Running): string {
  const lines = [
    '',
    `  Rollcall ${VERSION} is ready.`,
    '',
    `  API    ${url}`,
    `  Docs   ${url}/docs`,
    `  Data   ${embedded ? 'embedded Postgres, for this process alone' : 'Postgres of DATABASE_URL'}`,
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
  const lost = shell.startsWith('<')
    ? ['  Key    none is kept here; lost it? Start with ROLLCALL_ADMIN_KEY set to a new one']
    : [];
  const kept = file ? [`  Key    ${file}`] : lost;
  return created ? [...kept, `         ${created}  (shown this once)`] : kept;
}
