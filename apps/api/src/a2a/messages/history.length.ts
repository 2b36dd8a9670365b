import { RequestMalformedError } from '@a2a-js/sdk/errors';

export function checkHistoryLength(historyLength = 0): void {
  if (!Number.isInteger(historyLength) || historyLength < 0)
    throw new RequestMalformedError('historyLength must be 0 or a positive whole number.');
}
