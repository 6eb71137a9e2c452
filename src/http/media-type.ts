/** What the body of a request is, in lower case and without parameters; empty where it does not say. */
export function mediaType(request: Request): string {
  const [type = ''] = (request.headers.get('content-type') ?? '').split(';');
  return type.trim().toLowerCase();
}
