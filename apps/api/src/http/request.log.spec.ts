import type { Logger } from 'pino';
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
});
