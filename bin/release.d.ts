export function released(changelog: string, version: string, date: string): { changelog: string; notes: string };
export function latestVersion(changelog: string): string | undefined;
