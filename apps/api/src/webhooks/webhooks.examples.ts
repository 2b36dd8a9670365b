import type { ApiParamOptions } from '@nestjs/swagger';
import type { ReplayBody } from './webhooks.dto.js';

export const WEBHOOK_ID: ApiParamOptions = {
  name: 'id',
  description: 'The id of the webhook.',
  example: 'wh_5f0c2e8a9b7d4c31a2b3c4d5',
};

export const SEQUENCE: ApiParamOptions = {
  name: 'sequence',
  description: 'The position of the event in the log.',
  schema: { type: 'integer', example: 1 },
};

export const REPLAY_EXAMPLES = {
  parked: { summary: 'Parked events', value: {} satisfies ReplayBody },
  all: { summary: 'All events after the first', value: { after: '1' } satisfies ReplayBody },
};
