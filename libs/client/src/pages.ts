interface ListPage<Item> {
  items: Item[];
  nextCursor: string | null;
}

type ItemOf<Page> = Page extends ListPage<infer Item> ? Item : never;

/**
 * A list that is read in pages. `for await (const item of list)` reads all items and requests the next page when it is needed;
 * `page()` returns one page with its `nextCursor`.
 */
export class Pages<Page extends ListPage<unknown>> implements AsyncIterable<ItemOf<Page>> {
  /** `read` returns the page at a cursor, or the page that the caller has asked for. */
  constructor(private readonly read: (cursor?: string) => Promise<Page>) {}

  async page(): Promise<Page> {
    return await this.read();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ItemOf<Page>, void> {
    let page = await this.read();
    for (;;) {
      yield* page.items as ItemOf<Page>[];
      if (page.nextCursor === null) return;
      page = await this.read(page.nextCursor);
    }
  }
}
