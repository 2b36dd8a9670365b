import { pino, type Logger as Pino, type LoggerOptions } from 'pino';
import type { LoggerService } from '@nestjs/common';
import type { Config } from '../config/config.schema.js';
import { requestContext } from '../http/request.context.js';

/** JSON lines for machines, readable ones for people at a terminal. Only what is named here or at the call gets in. */
export function createPino({ level, format }: Config['log'], terminal = process.stdout.isTTY): Pino {
  const options: LoggerOptions = {
    level,
    base: undefined,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: errorFacts },
    mixin: () => {
      const request = requestContext.getStore();
      return request ? { requestId: request.id } : {};
    },
  };
  if (!isForPeople(format, terminal)) return pino(options, pino.destination({ fd: 1, sync: false }));
  return pino({
    ...options,
    transport: { target: 'pino-pretty', options: { ignore: 'pid,hostname', translateTime: 'HH:MM:ss.l' } },
  });
}

/** Whether the output is read by people; otherwise a log collector reads and keeps it. */
export function isForPeople(format: Config['log']['format'], terminal = process.stdout.isTTY): boolean {
  return format === 'pretty' || (format === 'auto' && terminal);
}

/** Of an error only what helps to find it: other properties may hold queries, parameters or credentials. */
function errorFacts(error: unknown): unknown {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack, cause } = error;
  const code = (error as { code?: unknown }).code;
  return {
    type: name,
    message,
    stack,
    ...(code !== undefined && { code }),
    ...(cause !== undefined && { cause: errorFacts(cause) }),
  };
}

/** Nest's own parts tell every module and route at each start; that is for looking closely. */
const FRAMEWORK = new Set(['NestFactory', 'InstanceLoader', 'RoutesResolver', 'RouterExplorer', 'NestApplication']);

type Level = 'info' | 'error' | 'warn' | 'debug' | 'trace' | 'fatal';

/** Lets Nest and our own classes log through pino: `logger.log({ event: 'agent.joined', agentId })`. */
export class NestLogger implements LoggerService {
  constructor(private readonly sink: Pino) {}

  log(message: unknown, ...rest: unknown[]): void {
    this.write('info', message, rest);
  }
  error(message: unknown, ...rest: unknown[]): void {
    this.write('error', message, rest);
  }
  warn(message: unknown, ...rest: unknown[]): void {
    this.write('warn', message, rest);
  }
  debug(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }
  verbose(message: unknown, ...rest: unknown[]): void {
    this.write('trace', message, rest);
  }
  fatal(message: unknown, ...rest: unknown[]): void {
    this.write('fatal', message, rest);
  }

  /** Nest passes the logger's name last, and for errors a stack before it. */
  private write(wanted: Level, message: unknown, rest: unknown[]): void {
    const context = rest.at(-1);
    const level = wanted === 'info' && FRAMEWORK.has(String(context)) ? 'debug' : wanted;
    const fields = { ...(typeof context === 'string' && { context }), ...stackIn(rest) };
    if (message instanceof Error) this.sink[level]({ ...fields, err: message });
    else if (typeof message === 'object' && message !== null) this.sink[level]({ ...fields, ...message });
    else this.sink[level](fields, String(message));
  }
}

function stackIn(rest: unknown[]): { stack?: string } {
  const strings = rest.slice(0, -1).filter((item) => typeof item === 'string');
  const stack = strings.find((item) => item.includes('\n    at '));
  return stack === undefined ? {} : { stack };
}
