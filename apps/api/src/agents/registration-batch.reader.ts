import { Injectable } from '@nestjs/common';
import { EndpointCheck } from '#rollcall/providers';
import { validationPipe } from '../http/validation.pipe.js';
import { RegisterBody } from './agents.dto.js';

/** One registration of a batch: valid, or rejected with an error. */
export type BatchItem = { ok: true; body: RegisterBody } | { ok: false; error: unknown };

/** After this many items, the reader yields to other requests. */
const ITEMS_WITHOUT_PAUSE = 50;

/** Validates each registration of a batch with the rules of a single registration. */
@Injectable()
export class RegistrationBatchReader {
  private readonly pipe = validationPipe();

  constructor(private readonly endpoints: EndpointCheck) {}

  async read(agents: readonly unknown[]): Promise<BatchItem[]> {
    const checkEndpoint = this.endpointChecker();
    const items: BatchItem[] = [];
    for (const [index, agent] of agents.entries()) {
      if (index % ITEMS_WITHOUT_PAUSE === ITEMS_WITHOUT_PAUSE - 1) await new Promise(setImmediate);
      items.push(await this.check(agent, checkEndpoint));
    }
    return items;
  }

  private async check(agent: unknown, checkEndpoint: (text: string) => Promise<string>): Promise<BatchItem> {
    try {
      const body = (await this.pipe.transform(agent, { type: 'body', metatype: RegisterBody })) as RegisterBody;
      if (body.endpoint) body.endpoint = await checkEndpoint(body.endpoint);
      return { ok: true, body };
    } catch (error) {
      return { ok: false, error };
    }
  }

  /** Checks each endpoint of a batch once. */
  private endpointChecker(): (text: string) => Promise<string> {
    const checked = new Map<string, Promise<string>>();
    return async (text) => {
      const known = checked.get(text) ?? this.endpoints.check(text);
      checked.set(text, known);
      return await known;
    };
  }
}
