"""openapi-python-client, which takes lines for a file. This client sends every default."""

import io

import scenario
from roster_client import AuthenticatedClient, models
from roster_client.api.bulk import import_users
from roster_client.api.users import (
    create_user,
    delete_user,
    get_user,
    list_users,
    patch_user,
    replace_user,
)
from roster_client.types import UNSET, File


def value(answer):
    if isinstance(answer, models.Problem):
        raise scenario.Refused(answer)
    return answer


class Client:
    def __init__(self):
        self.http = AuthenticatedClient(base_url=scenario.URL, token=scenario.KEY)

    def create(self, body):
        body = models.UserCreate.from_dict(body)
        return value(create_user.sync(client=self.http, body=body))

    def get(self, user_id):
        return value(get_user.sync(user_id, client=self.http))

    def list(self, filter=UNSET, fields=(), sort="id", **query):
        query["sort"] = sort
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
        lines = File(io.BytesIO(text.encode()))
        return import_users.sync_detailed(client=self.http, body=lines).content.decode()


CLASSES = {
    "user": models.User,
    "page": models.UserList,
    "problem": models.Problem,
    "body": models.UserCreate,
}

if __name__ == "__main__":
    scenario.main("openapi-python-client", Client(), CLASSES, models)
