"""openapi-python-client. NDJSON goes through the underlying request function with the generated
arguments, because the generated body is JSON or a file. This client sends every default."""

import scenario
from roster_client import AuthenticatedClient, models
from roster_client.api.users import (
    create_user,
    delete_user,
    get_user,
    list_users,
    patch_user,
    replace_user,
)
from roster_client.types import UNSET


def value(answer):
    if isinstance(answer, models.Problem):
        raise scenario.Refused(answer)
    return answer


class Client:
    def __init__(self):
        self.http = AuthenticatedClient(base_url=scenario.URL, token=scenario.KEY)

    def create(self, body):
        # A single user has no on_conflict.
        body = models.UserCreate.from_dict(body)
        return value(create_user.sync(client=self.http, body=body, on_conflict=UNSET))

    def get(self, user_id):
        return value(get_user.sync(user_id, client=self.http))

    def list(self, filter=UNSET, fields=(), sort="id", **query):
        query["sort"] = models.ListUsersSort(sort)
        query["fields"] = [models.ListUsersFieldsItem(name) for name in fields] or UNSET
        return value(list_users.sync(client=self.http, filter_=filter, **query))

    def replace(self, user_id, if_match, body):
        body = models.UserReplace.from_dict(body)
        return value(replace_user.sync(user_id, client=self.http, body=body, if_match=if_match))

    def patch(self, user_id, body, **query):
        body = models.UserPatch.from_dict(body)
        return value(patch_user.sync(user_id, client=self.http, body=body, **query))

    def remove(self, user_id):
        value(delete_user.sync(user_id, client=self.http))

    def import_lines(self, text):
        request = create_user._get_kwargs()
        request["content"] = text
        request["headers"]["Content-Type"] = "application/x-ndjson"
        response = self.http.get_httpx_client().request(**request)
        response.raise_for_status()
        return response.text


CLASSES = {
    "user": models.User,
    "page": models.UserList,
    "problem": models.Problem,
    "body": models.UserCreate,
}

if __name__ == "__main__":
    scenario.main("openapi-python-client", Client(), CLASSES, models)
