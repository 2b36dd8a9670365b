import type { Logger } from 'pino';
import { TerminalSummary } from '../../telemetry/terminal.js';
import { RequestLog } from './request.log.js';

describe('RequestLog', () => {
  it.each([
    [200, 'info'],
    [404, 'info'],
    [500, 'error'],
    [502, 'error'],
    [503, 'warn'],
  ])('logs a response with status %i at level %s', (status, level) => {
    const levels: string[] = [];
    const at = (name: string) => () => void levels.push(name);
    const pino = { info: at('info'), warn: at('warn'), error: at('error') } as unknown as Logger;
    new RequestLog(pino, 'all').write({ requestId: '1', method: 'GET', url: '/', status, ms: 1 });
    expect(levels).toEqual([level]);
  });

  it('adds rejected requests to the summary of a terminal, without the query string (N5)', () => {
    const texts: string[] = [];
    const summary = new TerminalSummary((kind, text) => void texts.push(`${kind} ${text}`));
    const pino = {} as Logger;
    const log = new RequestLog(pino, 'errors', summary);
    expect([log.includes(200), log.includes(404), new RequestLog(pino, 'errors').includes(404)]).toEqual([
      false,
      true,
      false,
    ]);
    log.write({ requestId: '1', method: 'GET', url: '/v1/me?key=secret', status: 401, ms: 1 });
    summary.flush();
    expect(texts).toEqual(['http.rejected 401 GET /v1/me']);
  });
});
