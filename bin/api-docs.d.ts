export function missingComments(): string[];
export function apiPages(): Promise<{ path: string; text: string }[]>;
