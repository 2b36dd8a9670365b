/** The content type of responses that are already serialised. */
export const JSON_TYPE = 'application/json; charset=utf-8';
