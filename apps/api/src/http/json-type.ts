/** The content type of answers that are already serialised. */
export const JSON_TYPE = 'application/json; charset=utf-8';
