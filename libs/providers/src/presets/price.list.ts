import { z } from 'zod';
import { type Prices, PricesShape } from './prices.js';

/** What a model costs and can do, as its vendor published it. */
const ListedModelSchema = z.strictObject({
  ...PricesShape,
  contextWindow: z.int().positive().optional(),
  capabilities: z.array(z.string().min(1).max(100)).max(50).optional(),
});

/** The format of a price list: a date, and prices in dollars per million tokens by `vendor/model`. */
export const PriceListSchema = z.strictObject({
  date: z.iso.date(),
  note: z.string().optional(),
  models: z.record(z.string().regex(/^[\w-]+\/\S+$/), ListedModelSchema),
});

type ListedModels = z.infer<typeof PriceListSchema>['models'];

interface ListedFacts {
  readonly prices: Prices;
  /** The date of the list. */
  readonly pricesAsOf: string;
  readonly contextWindow?: number;
  readonly capabilities?: readonly string[];
}

/** The prices of models on one day. An operator can replace the list (N-9). */
export class PriceList {
  private readonly models: ReadonlyMap<string, ListedModels[string]>;

  private constructor(
    readonly date: string,
    models: ListedModels,
  ) {
    this.models = new Map(Object.entries(models));
  }

  static readonly EMPTY = new PriceList('', {});

  /** Throws a ZodError if the value is not a price list. */
  static parse(value: unknown): PriceList {
    const { date, models } = PriceListSchema.parse(value);
    return new PriceList(date, models);
  }

  find({ vendor, model }: { readonly vendor: string; readonly model: string }): ListedFacts | undefined {
    const listed = this.models.get(`${vendor}/${model}`);
    if (!listed) return undefined;
    const { contextWindow, capabilities, ...prices } = listed;
    const more = { ...(contextWindow !== undefined && { contextWindow }), ...(capabilities && { capabilities }) };
    return { prices, pricesAsOf: this.date, ...more };
  }

  /** The models of a vendor, in the order of the list. */
  modelsOf(vendor: string): string[] {
    const prefix = `${vendor}/`;
    return [...this.models.keys()].filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
  }
}
