import type { Logger as Pino } from 'pino';
import type { Config } from '../../config/config.schema.js';
import type { TerminalSummary } from '../../telemetry/terminal.js';

const MAX_PATH = 80;

export interface AnsweredRequest {
  requestId: string;
  method: string;
  url: string;
  status: number;
  ms: number;
  caller?: string;
  ip?: string;
}

/** A temporary state that may be intended, such as a shutdown. Its cause has log lines of its own. */
const UNAVAILABLE = 503;

/** Logs the requests that the setting `log.requests` selects. With `errors`, a terminal also shows a summary of rejected requests. */
export class RequestLog {
  constructor(
    private readonly pino: Pino,
    private readonly which: Config['log']['requests'],
    private readonly summary?: TerminalSummary,
  ) {}

  includes(status: number): boolean {
    return this.which === 'all' || (this.which === 'errors' && status >= (this.summary ? 400 : 500));
  }

  /** The line contains no header, body or query string, because they may contain secrets. */
  write({ requestId, method, url, status, ms, caller, ip }: AnsweredRequest): void {
    const path = url.split('?', 1)[0] ?? '';
    if (this.which === 'errors' && status < 500)
      return this.summary?.add('http.rejected', `${status} ${method} ${path.slice(0, MAX_PATH)}`);
    const line = { event: 'http.request', requestId, method, path, status, ms: Math.round(ms * 10) / 10, caller, ip };
    if (status === UNAVAILABLE) this.pino.warn(line);
    else if (status >= 500) this.pino.error(line);
    else this.pino.info(line);
  }
}
