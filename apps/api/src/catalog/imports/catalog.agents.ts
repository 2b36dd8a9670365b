import { Injectable } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { CARD_HEADERS, withCard } from '../../agents/registration/agent.registrations.js';
import { type BatchItem, RegistrationBatches } from '../../agents/registration/registration.batches.js';
import { RegisterBody } from '../../agents/registration/registration.dto.js';
import { RemoteDocuments, RequestAllowance } from '../../agents/registration/remote.documents.js';
import { validated } from '../../http/validation/validation.pipe.js';
import type { AgentImportBody } from './agent-imports.dto.js';
import { type Artifact, type CardEntry, CatalogReader, type FlatEntry, type ImportLimits } from './catalog.reader.js';

/** An entry of a catalog, and its registration. An entry without an item is not an agent. */
export interface CatalogAgent {
  readonly identifier: string | null;
  readonly item?: BatchItem;
}

/** The time limit of an import. It is shorter than the time limit of a request. */
const TOTAL_MS = 10_000;
const CONCURRENT_CARDS = 8;

/** Turns the entries of a catalog into registrations. The identifier of an entry is the agentId, so a second import finds the same agents. */
@Injectable()
export class CatalogAgents {
  constructor(
    private readonly catalogs: CatalogReader,
    private readonly documents: RemoteDocuments,
    private readonly batches: RegistrationBatches,
  ) {}

  async read(body: AgentImportBody): Promise<CatalogAgent[]> {
    const limits = { signal: AbortSignal.timeout(TOTAL_MS), allowance: new RequestAllowance() };
    const entries = await this.catalogs.read(body, limits);
    const items = new Map<FlatEntry, BatchItem>();
    const waiting = entries.values();
    const worker = async (): Promise<void> => {
      for (const entry of waiting) {
        if (entry.kind === 'card') items.set(entry, await this.itemOf(entry, body, limits));
        if (entry.kind === 'invalid') items.set(entry, { ok: false, error: entry.error });
      }
    };
    await Promise.all(Array.from({ length: CONCURRENT_CARDS }, worker));
    return await this.checked(entries, items);
  }

  /** Rejects agents whose endpoint must not be called. */
  private async checked(
    entries: readonly FlatEntry[],
    items: ReadonlyMap<FlatEntry, BatchItem>,
  ): Promise<CatalogAgent[]> {
    const agents = entries.map((entry) => ({ identifier: entry.identifier, item: items.get(entry) }));
    const checked = (await this.batches.checked(agents.flatMap(({ item }) => item ?? []))).values();
    return agents.map(({ identifier, item }) => ({ identifier, item: item && checked.next().value }));
  }

  private async itemOf(
    entry: CardEntry,
    { labels, takeover }: AgentImportBody,
    limits: ImportLimits,
  ): Promise<BatchItem> {
    const { identifier, artifact } = entry;
    try {
      const agentCard = await this.cardOf(artifact, limits);
      const endpoint = 'url' in artifact && isJsonFile(artifact.url) ? artifact.url : undefined; // calls to the agent read the card again
      const body = validated(
        plainToInstance(RegisterBody, { agentId: identifier, agentCard, endpoint, labels, takeover }),
      );
      return { ok: true, body: withCard(body) };
    } catch (error) {
      return { ok: false, error };
    }
  }

  private async cardOf(artifact: Artifact, limits: ImportLimits): Promise<Record<string, unknown>> {
    if ('data' in artifact) return artifact.data;
    return await this.documents.read({
      url: artifact.url,
      field: 'url',
      what: 'card',
      headers: CARD_HEADERS,
      ...limits,
    });
  }
}

function isJsonFile(url: string): boolean {
  return new URL(url).pathname.endsWith('.json');
}
