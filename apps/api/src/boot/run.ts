import type { Logger as Pino } from 'pino';
import { AdminKeyError, DatabaseRefusedError, DataFolderError } from '#rollcall/platform';
import { ConfigError, environmentSecrets, loadConfig, unknownVariables } from '../config/config.loader.js';
import type { Config } from '../config/config.schema.js';
import { createPino } from '../telemetry/logger.js';
import type { Tracing } from '../telemetry/tracing.js';
import { announce } from './announcement.js';
import { ListenError, type Running, start, type Surroundings } from './start.js';

/** Faults of the surroundings: the person who starts can mend them, so they get a sentence and not a stack. */
const EXPLAINED = [AdminKeyError, ConfigError, DataFolderError, DatabaseRefusedError, ListenError];

/** The life of the process: start, say where, and leave in order when asked to. */
export async function run(environment: NodeJS.ProcessEnv, folder: string, tracing?: Tracing): Promise<void> {
  let pino: Pino | undefined;
  try {
    const config = loadConfig(environment, folder);
    pino = createPino(config.log);
    for (const name of unknownVariables(environment))
      pino.warn({ event: 'config.unknown_variable', name }, `${name} is not a setting of Rollcall`);
    const secrets = environmentSecrets(environment, folder);
    const running = await startUnlessStopped(config, pino, { tracing, secrets });
    if (running) announce(running, config, pino);
  } catch (error) {
    await fail(error, pino);
  }
}

/**
 * Undefined when a signal came before the start was through: nothing is served yet, so the process just ends, and the
 * embedded server with it. Later the first signal asks politely, a second one insists.
 */
async function startUnlessStopped(config: Config, pino: Pino, around: Surroundings): Promise<Running | undefined> {
  let asked = false;
  let running: Running | undefined;
  const leave = async (signal: string): Promise<void> => {
    if (asked) process.exit(130);
    asked = true;
    pino.info({ event: 'process.stopping', signal }, 'stopping');
    await running?.stop();
    pino.info({ event: 'process.stopped' }, 'stopped');
    await end(pino, 0);
  };
  const onSignal = (signal: string): void =>
    void leave(signal).catch(async (error: unknown) => await fail(error, pino));
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal).on('SIGHUP', onSignal);
  process.on('uncaughtException', (error) => void fail(error, pino));
  process.on('unhandledRejection', (error) => void fail(error, pino));
  try {
    running = await start(config, pino, around);
  } catch (error) {
    if (!asked) throw error;
  }
  return asked ? undefined : running;
}

let failed = false;

/** The first failure is the cause; what fails on the way out is not worth a second message. */
async function fail(error: unknown, pino: Pino | undefined): Promise<void> {
  if (failed) return;
  failed = true;
  if (EXPLAINED.some((kind) => error instanceof kind)) process.stderr.write(`\n${(error as Error).message}\n\n`);
  else if (pino) pino.fatal({ event: 'process.failed', err: error });
  else process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  await end(pino, 1);
}

async function end(pino: Pino | undefined, code: number): Promise<void> {
  if (pino) await new Promise((resolve) => pino.flush(resolve));
  process.exit(code);
}
