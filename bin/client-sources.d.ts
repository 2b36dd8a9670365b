/** Returns the generated sources by file name. */
export function clientSources(document: object): Promise<Record<string, string>>;
