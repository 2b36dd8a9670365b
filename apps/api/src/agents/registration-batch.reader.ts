import { Injectable } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { EndpointCheck } from '#rollcall/providers';
import { validationFailed } from '../http/validation/validation.errors.js';
import { validated } from '../http/validation/validation.pipe.js';
import { RegisterBatchBody, RegisterBody } from './agents.dto.js';
import { withCard } from './registration.reader.js';

/** One registration of a batch: valid, or rejected with an error. */
export type BatchItem = { ok: true; body: RegisterBody } | { ok: false; error: unknown };

const ONE_BY_ONE = 'cardUrl cannot be used in a batch: register the agent with POST /v1/agents, or send agentCard';
/** After this many items, the reader yields to other requests. */
const ITEMS_WITHOUT_PAUSE = 50;

/** Validates each registration of a batch with the rules of a single registration. */
@Injectable()
export class RegistrationBatchReader {
  constructor(private readonly endpoints: EndpointCheck) {}

  async read(body: unknown): Promise<BatchItem[]> {
    const { agents } = validated(Object.assign(new RegisterBatchBody(), body));
    const items: BatchItem[] = [];
    for (const [index, agent] of agents.entries()) {
      if (index % ITEMS_WITHOUT_PAUSE === ITEMS_WITHOUT_PAUSE - 1) await new Promise(setImmediate);
      items.push(toItem(agent));
    }
    return await this.checked(items);
  }

  /** Rejects the items whose endpoint must not be called. */
  async checked(items: readonly BatchItem[]): Promise<BatchItem[]> {
    const checked = await this.endpoints.checkAll(items.flatMap((item) => (item.ok && item.body.endpoint) || []));
    return items.map((item) => {
      const result = item.ok && item.body.endpoint ? checked.get(item.body.endpoint) : undefined;
      if (!item.ok || !result) return item;
      if ('error' in result) return { ok: false, error: result.error };
      item.body.endpoint = result.url;
      return item;
    });
  }
}

function toItem(agent: Record<string, unknown>): BatchItem {
  try {
    const body = validated(plainToInstance(RegisterBody, agent));
    if (body.cardUrl !== undefined) throw validationFailed([{ field: 'cardUrl', message: ONE_BY_ONE }]);
    return { ok: true, body: withCard(body) };
  } catch (error) {
    return { ok: false, error };
  }
}
